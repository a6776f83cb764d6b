package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/holdfast/holdfast/bookings/oversell"
)

// print writes the report for people.
func (r oversellReport) print(w io.Writer) error {
	fmt.Fprintf(w, "Overbooking, judged on nights from %s to %s. Walking a guest costs %g times the rate. %.1f s.\n", r.JudgeFrom, r.Until, r.Walk, r.Seconds)
	for _, hotel := range r.Hotels {
		fmt.Fprintf(w, "\n%s: %d stays learnt from, %d to judge by\n\nGuests that were expected and that came, by how many days before the night (room types and nights with 10 or more bookings)\n\n", hotel.Hotel, hotel.Learnt, hotel.Judged)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "days out\tnights\tbooked\texpected\tcame\tin the central 50 %\t80 %\t95 %\t")
		for _, c := range hotel.Calibration {
			fmt.Fprintf(table, "%d\t%d\t%d\t%.0f\t%d\t%.0f %%\t%.0f %%\t%.0f %%\t\n", c.DaysOut, c.Nights, c.Bookings, c.Expected, c.Came, 100*c.Within50, 100*c.Within80, 100*c.Within95)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, size := range hotel.Sizes {
			fmt.Fprintf(w, "\nWith %d rooms (%d %% of the most that were slept in at once); best flat percentage before: %d %%\n\n", size.Rooms, size.RoomsPercent, size.BestFlatPercent)
			table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
			fmt.Fprintln(table, "policy\trefused stays\troom-nights slept\twalked\trooms brought\twalks cost\tnet\tagainst none\t")
			for _, result := range size.Results {
				fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n", result.Policy, result.Refused, result.Slept, result.Walked,
					whole(result.RoomMinor), whole(result.WalkMinor), whole(result.NetMinor()), gain(size.Results[0], result))
			}
			if err := table.Flush(); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// whole is an amount in the whole units of a currency with cents.
func whole(minor int64) string { return fmt.Sprint((minor + 50) / 100) }

func gain(none, result oversell.Result) string {
	if none.NetMinor() == 0 {
		return ""
	}
	return fmt.Sprintf("%+.2f %%", 100*(float64(result.NetMinor())/float64(none.NetMinor())-1))
}
