package main

import (
	"context"
	"errors"
	"os"

	"github.com/holdfast/holdfast/trade"
)

type importOTACommand struct {
	keyFlag
	File string `arg:"" help:"An OTA_HotelInvCountNotifRQ, OTA_HotelAvailNotifRQ or OTA_HotelRatePlanNotifRQ in XML, also compressed by gzip."`
}

// errMessageRefused follows an answer that says why.
var errMessageRefused = errors.New("the message was refused; nothing was stored")

// Run applies the message and prints the standard's own answer.
func (c *importOTACommand) Run(ctx context.Context, root *cli) error {
	content, _, err := readImport(c.File)
	if err != nil {
		return err
	}
	return root.withApp(ctx, func(ctx context.Context, a *app) error {
		actor, err := c.actor(ctx, a)
		if err != nil {
			return err
		}
		answer, err := a.trade.Take(ctx, actor, content)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(answer.Document); err != nil {
			return err
		}
		if answer.Outcome == trade.OutcomeRefused {
			return errMessageRefused
		}
		return nil
	})
}
