package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

type importCommand struct {
	Chart    importChartCommand    `cmd:"" help:"Store a seating plan in the pretix format as a venue's chart."`
	Nights   importNightsCommand   `cmd:"" help:"Set the nights of a room type from a CSV file."`
	OTA      importOTACommand      `cmd:"" name:"ota" help:"Apply an OpenTravel message of counts, restrictions or rates."`
	Bookings importBookingsCommand `cmd:"" help:"Replay a history of hotel bookings through the real hold and booking code."`
}

// keyFlag is the credential of commands that act for a tenant.
type keyFlag struct {
	Key string `env:"HOLDFAST_KEY" placeholder:"KEY" help:"An admin key of the tenant: needed."`
}

// Validate is called with the command line: a key that cannot be one needs no database.
func (k keyFlag) Validate() error {
	if err := tenants.CheckKeyForm(k.Key); err != nil {
		return fmt.Errorf("--key (or HOLDFAST_KEY): %w", err)
	}
	return nil
}

func (k keyFlag) actor(ctx context.Context, a *app) (tenants.Actor, error) {
	actor, err := a.tenants.Authenticate(ctx, k.Key, "")
	switch {
	case fault.KindOf(err) == fault.KindUnauthenticated:
		return tenants.Actor{}, fmt.Errorf("--key (or HOLDFAST_KEY): %s", strings.TrimPrefix(err.Error(), "Authorization: "))
	case err != nil:
		return tenants.Actor{}, err
	case actor.KeyType != tenants.KeyTypeAdmin:
		return tenants.Actor{}, fmt.Errorf("--key (or HOLDFAST_KEY): expected an admin key of the tenant, got one of kind %s", actor.KeyType)
	}
	return actor, nil
}

// maxImportBytes bounds an imported file, uncompressed.
const maxImportBytes = 256 << 20

var errImportTooLarge = fmt.Errorf("the file is larger than %d MiB", maxImportBytes>>20)

// readImport reads a file whole, and uncompresses it when it is gzip's. digest is the SHA-256 of its
// content: the same for a file and its compressed form.
func readImport(path string) (content []byte, digest string, err error) {
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var reader io.Reader = bufio.NewReader(file)
	gzipMagic := []byte{0x1f, 0x8b}
	if head, _ := reader.(*bufio.Reader).Peek(len(gzipMagic)); bytes.Equal(head, gzipMagic) {
		if reader, err = gzip.NewReader(reader); err != nil {
			return nil, "", fmt.Errorf("%s: uncompress: %w", path, err)
		}
	}
	content, err = io.ReadAll(io.LimitReader(reader, maxImportBytes+1))
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	if len(content) > maxImportBytes {
		return nil, "", fmt.Errorf("%s: %w", path, errImportTooLarge)
	}
	sum := sha256.Sum256(content)
	return content, hex.EncodeToString(sum[:]), nil
}

// maxProblems is how many things wrong with a file are listed; a person mends those first.
const maxProblems = 50

// problems gathers what is wrong with a file.
type problems struct {
	file  string
	lines []string
	more  int
}

func (p *problems) add(line int, column, format string, args ...any) {
	if len(p.lines) == maxProblems {
		p.more++
		return
	}
	where := fmt.Sprintf("%s: line %d", p.file, line)
	if column != "" {
		where += ", column " + column
	}
	p.lines = append(p.lines, where+": "+fmt.Sprintf(format, args...))
}

// err is nil when nothing is wrong. It lists every problem on a line of its own, and says that the
// import changed nothing.
func (p *problems) err() error {
	if len(p.lines) == 0 {
		return nil
	}
	text := "the file has problems; nothing was stored\n"
	for _, line := range p.lines {
		text += line + "\n"
	}
	if p.more > 0 {
		text += fmt.Sprintf("and %d more\n", p.more)
	}
	return errors.New(text[:len(text)-1])
}
