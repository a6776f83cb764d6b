package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

const (
	// compactAbove is how many outdated lines a journal may carry, beside as many as it has live
	// ones, before it is rewritten.
	compactAbove = 1000
	// maxJournalLine bounds one line, in bytes.
	maxJournalLine = 256 << 10
)

// journal is a file of JSON lines, each the whole state of one charge or refund at a decision; the
// last line of each counts. It survives the end of the process, not that of the machine: it is not
// synced, because no money depends on it.
type journal struct {
	path  string
	file  *os.File
	size  int64
	lines int
}

type journalEntry struct {
	Charge *journalCharge `json:"charge,omitempty"`
	Refund *journalRefund `json:"refund,omitempty"`
}

type journalCharge struct {
	wireCharge
	Token    string        `json:"token"`
	Hosted   hosted        `json:"hosted,omitzero"`
	Disputes []wireDispute `json:"disputes,omitempty"`
	Request  string        `json:"request"`
	DecideAt time.Time     `json:"decideAt,omitzero"`
}

type journalRefund struct {
	wireRefund
	Request  string    `json:"request"`
	DecideAt time.Time `json:"decideAt,omitzero"`
}

func (c *charge) entry() journalEntry {
	return journalEntry{Charge: &journalCharge{
		wireCharge: c.wire, Token: c.token, Hosted: c.hosted, Disputes: c.disputes, Request: c.request, DecideAt: c.decideAt,
	}}
}

func (r *refund) entry() journalEntry {
	return journalEntry{Refund: &journalRefund{wireRefund: r.wire, Request: r.request, DecideAt: r.decideAt}}
}

// openJournal reads what an earlier server wrote into the ledger and goes on from there, with the
// decisions that were open then.
func (l *ledger) openJournal(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.read(path); err != nil {
		return err
	}
	l.journal = &journal{path: path}
	if err := l.compact(); err != nil {
		return err
	}
	for element := l.order.Front(); element != nil; element = element.Next() {
		c := chargeOf(element)
		if c.pending() {
			l.schedule(c)
		}
		l.follow(c)
		for _, r := range c.refunds {
			if r.wire.Status == statusPending {
				l.scheduleRefund(r)
			}
		}
	}
	return nil
}

func (l *ledger) read(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the sandbox journal: %w", err)
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, maxJournalLine)
	for number := 1; ; number++ {
		line, err := reader.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			// A last line without its end was being written when the process died; its caller
			// never got an answer.
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d of the sandbox journal %s: %w", number, path, err)
		}
		if err := l.restore(line); err != nil {
			return fmt.Errorf("read line %d of the sandbox journal %s: %w", number, path, err)
		}
	}
}

func (l *ledger) restore(line []byte) error {
	var entry journalEntry
	if err := json.Unmarshal(line, &entry); err != nil {
		return fmt.Errorf("expected a charge or a refund in JSON: %w", err)
	}
	switch {
	case entry.Charge != nil:
		return l.restoreCharge(*entry.Charge)
	case entry.Refund != nil:
		l.restoreRefund(*entry.Refund)
		return nil
	}
	return errors.New("expected a charge or a refund")
}

func (l *ledger) restoreCharge(entry journalCharge) error {
	var act behaviour
	if entry.Token != "" {
		var err error
		if act, _, err = readToken(entry.Token); err != nil {
			return fmt.Errorf("charge %s: %w", entry.ID, err)
		}
	}
	c := &charge{decided: make(chan struct{}), base: l.base}
	if element, ok := l.charges[entry.ID]; ok {
		c = chargeOf(element)
	}
	c.wire, c.token, c.act, c.request, c.decideAt = entry.wireCharge, entry.Token, act, entry.Request, entry.DecideAt
	c.hosted, c.disputes = entry.Hosted, entry.Disputes
	if !c.pending() {
		// Its event was queued by the server that decided it.
		done := make(chan struct{})
		close(done)
		c.decided, c.announced = done, done
	}
	if _, ok := l.charges[entry.ID]; ok {
		return nil
	}
	if err := l.makeRoom(false); err != nil {
		return err
	}
	l.add(c)
	return nil
}

func (l *ledger) restoreRefund(entry journalRefund) {
	owned := ownedKey{entry.Account, entry.Key}
	if r, ok := l.refunds[owned]; ok {
		r.wire = entry.wireRefund
		return
	}
	element, ok := l.charges[entry.Charge]
	if !ok {
		// Its charge was forgotten to keep within the bound.
		return
	}
	l.addRefund(&refund{wire: entry.wireRefund, charge: chargeOf(element), request: entry.Request, decideAt: entry.DecideAt})
}

// append writes one line whole, or leaves the file as it was.
func (j *journal) append(entry journalEntry) error {
	line, err := encodeLine(entry)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(line); err != nil {
		return errors.Join(fmt.Errorf("write the sandbox journal: %w", err), j.file.Truncate(j.size))
	}
	j.size += int64(len(line))
	j.lines++
	return nil
}

// rewrite replaces the file, in one step, by one with these lines only.
func (j *journal) rewrite(entries iter.Seq[journalEntry]) error {
	temporary := j.path + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("rewrite the sandbox journal: %w", err)
	}
	next := &journal{path: j.path, file: file}
	err = next.writeAll(entries)
	if err == nil {
		err = os.Rename(temporary, j.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("rewrite the sandbox journal: %w", err), file.Close())
	}
	outdated := j.file
	*j = *next
	if outdated == nil {
		return nil
	}
	if err := outdated.Close(); err != nil {
		return fmt.Errorf("close the outdated sandbox journal: %w", err)
	}
	return nil
}

func (j *journal) writeAll(entries iter.Seq[journalEntry]) error {
	buffered := bufio.NewWriterSize(j.file, 1<<20)
	for entry := range entries {
		line, err := encodeLine(entry)
		if err != nil {
			return err
		}
		if _, err := buffered.Write(line); err != nil {
			return err
		}
		j.size += int64(len(line))
		j.lines++
	}
	return buffered.Flush()
}

func (j *journal) close() error {
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("close the sandbox journal: %w", err)
	}
	return nil
}

func encodeLine(entry journalEntry) ([]byte, error) {
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(entry); err != nil {
		return nil, fmt.Errorf("encode a line of the sandbox journal: %w", err)
	}
	if line.Len() > maxJournalLine {
		return nil, fmt.Errorf("a line of the sandbox journal has %d bytes, more than %d", line.Len(), maxJournalLine)
	}
	return line.Bytes(), nil
}
