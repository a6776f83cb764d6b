package graph

import (
	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

func nightsSetView(s inventory.NightsSet) generated.NightsSet {
	return generated.NightsSet{Nights: int64(s.Nights), Oversold: each(s.Oversold, oversoldNightView), Source: s.Job}
}

func oversoldNightView(o inventory.OversoldNight) generated.OversoldNight {
	return generated.OversoldNight{
		Night: o.Night, SellLimit: o.SellLimit, Taken: o.Taken(), Held: o.Held, Booked: o.Booked, Excess: o.Excess, Source: o,
	}
}

func nightsJobView(j inventory.NightsJob) generated.NightsJob {
	view := generated.NightsJob{
		ID: j.ID.String(), PropertyID: j.Property.String(), From: j.First, To: j.Last, State: generated.NightsJobState(j.State),
		Nights: j.Nights, NightsWritten: j.Written, ChunkCount: j.Chunks, ChunksWaiting: j.Waiting, ChunksFailed: j.Failed,
		Oversold: j.Oversold, CreatedAt: j.CreatedAt, EndedAt: j.EndedAt, Source: j.ID,
	}
	if !j.RatePlan.IsZero() {
		plan := j.RatePlan.String()
		view.RatePlanID = &plan
	}
	if !j.RoomType.IsZero() {
		room := j.RoomType.String()
		view.RoomTypeID = &room
	}
	return view
}

func nightsChunkView(c inventory.NightsChunk) generated.NightsChunk {
	view := generated.NightsChunk{
		Ordinal: c.Ordinal, From: c.First, To: c.Last, Nights: c.Nights, State: generated.NightsChunkState(c.State),
		Oversold: c.Oversold, Fault: orNull(c.Fault), EndedAt: c.EndedAt,
	}
	if !c.RoomType.IsZero() {
		room := c.RoomType.String()
		view.RoomTypeID = &room
	}
	return view
}
