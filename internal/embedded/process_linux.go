package embedded

import "syscall"

// attributes puts a process into a group of its own, and, if asked, under
// another account and under a signal for the case that its parent dies.
func attributes(a *account, orphanSignal syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: a.credential(), Pdeathsig: orphanSignal}
}
