package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	plotWidth  = 8 * vg.Inch
	plotHeight = 5 * vg.Inch
	barWidth   = 10 * vg.Millimeter / 3
)

// plot writes two plots for each hotel: how the nights lie in their predicted distributions, and what
// each policy earned against none.
func (r oversellReport) plot(folder string) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for _, hotel := range r.Hotels {
		name := strings.ToLower(strings.ReplaceAll(hotel.Hotel, " ", "-"))
		if err := hotel.plotCalibration(filepath.Join(folder, name+"-calibration.svg")); err != nil {
			return err
		}
		if err := hotel.plotRevenue(filepath.Join(folder, name+"-revenue.svg")); err != nil {
			return err
		}
	}
	return nil
}

// plotCalibration draws, for some days out, the share of nights in each tenth of the predicted
// distribution. A model that is right draws a level line at a tenth.
func (h oversellHotelReport) plotCalibration(path string) error {
	p := plot.New()
	p.Title.Text = h.Hotel + ": where the nights lie in their predicted distribution of guests"
	p.X.Label.Text, p.Y.Label.Text = "tenth of the predicted distribution, fewest guests first", "share of nights"
	p.Y.Min = 0
	p.Legend.Top = true
	var lines []any
	for _, c := range h.Calibration {
		if c.Nights == 0 || c.DaysOut == 0 || c.DaysOut == 3 {
			continue
		}
		points := make(plotter.XYs, len(c.Tenths))
		for i, share := range c.Tenths {
			points[i] = plotter.XY{X: float64(i + 1), Y: share}
		}
		lines = append(lines, fmt.Sprintf("%d days before", c.DaysOut), points)
	}
	ideal := plotter.NewFunction(func(float64) float64 { return 0.1 })
	ideal.Dashes = plotutil.Dashes(1)
	p.Add(plotter.NewGrid(), ideal)
	p.Legend.Add("a model that is exactly right", ideal)
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return err
	}
	return saveSVG(p, path)
}

// plotRevenue draws what each policy earned more than none, in percent, by the size of the hotel.
func (h oversellHotelReport) plotRevenue(path string) error {
	p := plot.New()
	p.Title.Text = h.Hotel + ": revenue less walks, against no overbooking"
	p.Y.Label.Text = "percent"
	p.Legend.Top = true
	var sizes []string
	bars := map[string]plotter.Values{}
	var order []string
	for _, size := range h.Sizes {
		sizes = append(sizes, fmt.Sprintf("%d rooms (%d %%)", size.Rooms, size.RoomsPercent))
		none := float64(size.Results[0].NetMinor())
		for _, result := range size.Results[1:] {
			if bars[result.Policy] == nil {
				order = append(order, result.Policy)
			}
			percent := 0.0
			if none != 0 {
				percent = 100 * (float64(result.NetMinor())/none - 1)
			}
			bars[result.Policy] = append(bars[result.Policy], percent)
		}
	}
	for i, policy := range order {
		bar, err := plotter.NewBarChart(bars[policy], barWidth)
		if err != nil {
			return err
		}
		bar.Color, bar.LineStyle.Width = plotutil.Color(i), 0
		bar.Offset = vg.Length(float64(i)-float64(len(order)-1)/2) * barWidth
		p.Add(bar)
		p.Legend.Add(policy, bar)
	}
	p.Add(plotter.NewGrid())
	p.NominalX(sizes...)
	return saveSVG(p, path)
}

func saveSVG(p *plot.Plot, path string) (err error) {
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	file, err := os.Create(path) //nolint:gosec // the user names the folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = canvas.WriteTo(file)
	return err
}
