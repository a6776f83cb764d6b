package embedded

import "syscall"

// attributes puts a process into a group of its own, and, if asked, under
// another account. Darwin has no signal for orphans; the next start on the same
// data directory stops one that was left behind.
func attributes(a *account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: a.credential()}
}
