package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"cloud.google.com/go/civil"

	"github.com/holdfast/holdfast/bookings/oversell"
)

type oversellCommand struct {
	File         string  `arg:"" help:"A CSV file of hotel bookings, also compressed by gzip; the same as of import bookings."`
	JudgeFrom    string  `default:"2017-01-01" placeholder:"DATE" help:"The model learns from arrivals before this date and is judged on those from it on."`
	JudgeUntil   string  `placeholder:"DATE" help:"The last night that is judged. Without it, the last day on which any guest of the file arrives."`
	Walk         float64 `default:"2" help:"What it costs to walk a guest for a night, as a multiple of the rate: 0 to 100."`
	MostPercent  int     `default:"40" placeholder:"PERCENT" help:"The most that is sold beyond the rooms, 0 to 100."`
	RoomsPercent []int   `default:"100,85,70" placeholder:"PERCENT" help:"How large the hotels are taken to be, in percent of the most rooms that guests ever slept in at once; several are tried."`
	Plots        string  `placeholder:"DIR" type:"path" help:"Write the plots into this folder, as SVG."`
	JSON         bool    `name:"json" help:"Print one JSON object."`
}

// Help is what --help says beyond the flags.
func (oversellCommand) Help() string {
	return `Tells, from a file of past bookings, what advice on overbooking is worth.

A model of who comes is fitted to the bookings whose arrival lies before --judge-from. The
others are then played in the order in which they were made, with the rooms of the hotel: without
overbooking, with a flat percentage, with the flat percentage that was best before that date,
and as the model advises each day. For each it says what the guests who slept there paid and
what walking the others cost. How well the model told the number of guests is compared too.

The file does not tell how many rooms there are. They are taken to be the most that were ever
slept in at once; since such a hotel is never too small for its history, smaller ones are tried.
No database is needed. docs/overbooking.md explains the model.`
}

// Validate is called with the command line.
func (c *oversellCommand) Validate() error {
	if _, err := civil.ParseDate(c.JudgeFrom); err != nil {
		return fmt.Errorf("--judge-from: expected a date such as 2017-01-01, got %.40q", c.JudgeFrom)
	}
	if c.JudgeUntil != "" {
		until, err := civil.ParseDate(c.JudgeUntil)
		if err != nil {
			return fmt.Errorf("--judge-until: expected a date such as 2017-08-31, got %.40q", c.JudgeUntil)
		}
		if from, _ := civil.ParseDate(c.JudgeFrom); until.Before(from) {
			return fmt.Errorf("--judge-until: expected a date from %s on, got %s", c.JudgeFrom, c.JudgeUntil)
		}
	}
	if c.Walk < 0 || c.Walk > 100 {
		return fmt.Errorf("--walk: expected 0 to 100, got %g", c.Walk)
	}
	if c.MostPercent < 0 || c.MostPercent > oversell.MaxOversellPercent {
		return fmt.Errorf("--most-percent: expected 0 to %d, got %d", oversell.MaxOversellPercent, c.MostPercent)
	}
	if len(c.RoomsPercent) > 5 {
		return fmt.Errorf("--rooms-percent: expected at most 5 sizes, got %d", len(c.RoomsPercent))
	}
	for _, percent := range c.RoomsPercent {
		if percent < 1 || percent > 100 {
			return fmt.Errorf("--rooms-percent: expected 1 to 100, got %d", percent)
		}
	}
	return nil
}

// Run fits, judges and prints.
func (c *oversellCommand) Run(ctx context.Context) error {
	content, digest, err := readImport(c.File)
	if err != nil {
		return err
	}
	file, err := parseHistory(c.File, content, digest)
	if err != nil {
		return err
	}
	report, err := c.judge(ctx, file)
	if err != nil {
		return err
	}
	if c.Plots != "" {
		if err := report.plot(c.Plots); err != nil {
			return err
		}
	}
	if c.JSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.print(os.Stdout)
}

// oversellReport is what advice was worth.
type oversellReport struct {
	SHA256    string                `json:"sha256"`
	JudgeFrom civil.Date            `json:"judgeFrom"`
	Until     civil.Date            `json:"judgeUntil"`
	Walk      float64               `json:"walkCostMultiple"`
	Hotels    []oversellHotelReport `json:"hotels"`
	Seconds   float64               `json:"seconds"`
}

type oversellHotelReport struct {
	Hotel string `json:"hotel"`
	// Learnt is how many stays the model was fitted to, Judged how many arrived from JudgeFrom on.
	Learnt      int                    `json:"learntStays"`
	Judged      int                    `json:"judgedStays"`
	Calibration []oversell.Calibration `json:"calibration"`
	Sizes       []oversellSizeReport   `json:"sizes"`
}

type oversellSizeReport struct {
	RoomsPercent int `json:"roomsPercent"`
	Rooms        int `json:"rooms"`
	// BestFlatPercent earned most on the stays that the model was fitted to.
	BestFlatPercent int               `json:"bestFlatPercent"`
	Results         []oversell.Result `json:"results"`
}

// judgedDaysOut is how many days before a night the prediction is compared with what came.
func judgedDaysOut() []int { return []int{0, 1, 3, 7, 14, 30, 60} }

// flatPercents are compared with the advice, and flatTried are those of which the best is looked for.
func flatPercents() []int { return []int{5, 10, 20} }

func flatTried() []int { return []int{0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30} }

// warmUpDays before the first judged night are played too, so that its house is not empty. They are
// more than nearly every stay has nights.
const warmUpDays = 60

func (c *oversellCommand) judge(ctx context.Context, file history) (oversellReport, error) {
	began := time.Now()
	from, err := civil.ParseDate(c.JudgeFrom)
	if err != nil {
		return oversellReport{}, err
	}
	report := oversellReport{SHA256: file.digest, JudgeFrom: from, Walk: c.Walk}
	byHotel := map[string][]historyRow{}
	for _, row := range file.rows {
		byHotel[row.hotel] = append(byHotel[row.hotel], row)
		if row.arrival.After(report.Until) || report.Until.IsZero() {
			report.Until = row.arrival
		}
	}
	if c.JudgeUntil != "" {
		if report.Until, err = civil.ParseDate(c.JudgeUntil); err != nil {
			return report, err
		}
	}
	hotels := make([]string, 0, len(byHotel))
	for hotel := range byHotel {
		hotels = append(hotels, hotel)
	}
	slices.Sort(hotels)
	for _, hotel := range hotels {
		judged, err := c.judgeHotel(ctx, hotel, byHotel[hotel], from, report.Until)
		if errors.Is(err, oversell.ErrTooFewStays) {
			return report, fmt.Errorf("%s: %w: expected at least %d stays that arrive before --judge-from %s", hotel, err, oversell.MinStays, from)
		}
		if err != nil {
			return report, err
		}
		report.Hotels = append(report.Hotels, judged)
	}
	report.Seconds = time.Since(began).Seconds()
	return report, nil
}

func (c *oversellCommand) judgeHotel(ctx context.Context, hotel string, rows []historyRow, from, until civil.Date) (oversellHotelReport, error) {
	report := oversellHotelReport{Hotel: hotel}
	var learnt, judged []oversell.Stay
	for _, row := range rows {
		stay, ok := row.stay()
		switch {
		case !ok:
			continue
		case row.arrival.Before(from):
			learnt = append(learnt, stay)
			report.Learnt++
		default:
			report.Judged++
		}
		if !row.arrival.Before(from.AddDays(-warmUpDays)) {
			judged = append(judged, stay)
		}
	}
	model, err := oversell.Fit(learnt)
	if err != nil {
		return report, err
	}
	for _, daysOut := range judgedDaysOut() {
		report.Calibration = append(report.Calibration, oversell.Calibrate(model, judged, daysOut, from, until))
	}
	stock := stockOf(rows)
	for _, percent := range c.RoomsPercent {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		house := oversell.House{
			Rooms: func(roomType string, _ civil.Date) int {
				return max(1, int(stock.rooms[historyRoom{hotel, roomType}].physical)*percent/100)
			},
			RateMinor: func(roomType string, night civil.Date) int64 {
				of := stock.rooms[historyRoom{hotel, roomType}]
				if rate, ok := of.rates[night]; ok {
					return rate
				}
				return of.usual
			},
		}
		size := oversellSizeReport{RoomsPercent: percent}
		for _, room := range stock.roomsInOrder() {
			size.Rooms += house.Rooms(room.roomType, from)
		}
		size.BestFlatPercent = c.bestFlat(learnt, house)
		policies := []oversell.Policy{oversell.NoOversell()}
		for _, flat := range flatPercents() {
			policies = append(policies, oversell.FlatOversell(fmt.Sprintf("%d %% more", flat), flat))
		}
		policies = append(policies, oversell.FlatOversell("best flat percentage before", size.BestFlatPercent), oversell.Advised(model, c.Walk, c.MostPercent))
		for _, policy := range policies {
			size.Results = append(size.Results, oversell.Replay(judged, house, policy, c.Walk, from, until))
		}
		report.Sizes = append(report.Sizes, size)
	}
	return report, nil
}

// bestFlat is the percentage that would have earned most on the stays that were learnt from, the least
// of several.
func (c *oversellCommand) bestFlat(learnt []oversell.Stay, house oversell.House) int {
	first, last := learnt[0].Arrival, learnt[0].Arrival
	for _, stay := range learnt {
		if stay.Arrival.Before(first) {
			first = stay.Arrival
		}
		if stay.Arrival.After(last) {
			last = stay.Arrival
		}
	}
	best, bestMinor := 0, int64(0)
	for _, percent := range flatTried() {
		net := oversell.Replay(learnt, house, oversell.FlatOversell("", percent), c.Walk, first, last).NetMinor()
		if percent == 0 || net > bestMinor {
			best, bestMinor = percent, net
		}
	}
	return best
}

// stay is a row as the model sees it. A row without nights sold nothing.
func (r historyRow) stay() (oversell.Stay, bool) {
	stay := oversell.Stay{
		Traits:   oversell.Traits{Booked: r.booked, Arrival: r.arrival, Channel: r.channel},
		RoomType: r.roomType, Nights: min(r.nights, maxChainedNights), RateMinor: max(0, r.rateMinor),
	}
	switch r.status {
	case historyCheckedOut:
		stay.Outcome = oversell.OutcomeCame
	case historyCancelled:
		stay.Outcome, stay.Cancelled = oversell.OutcomeCancelled, r.settled
	case historyNoShow:
		stay.Outcome = oversell.OutcomeNoShow
	}
	return stay, r.nights > 0
}
