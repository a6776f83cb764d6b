package graph

import (
	"context"

	"github.com/holdfast/holdfast/graph/generated"
	"github.com/holdfast/holdfast/inventory"
)

const listPresaleCodes = "presaleCodes"

// PresaleCodes is the resolver for the presaleCodes field.
func (r *queryResolver) PresaleCodes(ctx context.Context, show string, first int64, after *string) (*generated.PresaleCodeConnection, error) {
	var d decoder
	of := readID[inventory.ShowKind](&d, "show", show)
	from := readCursor(&d, listPresaleCodes, after)
	if d.err != nil {
		return nil, d.err
	}
	codes, more, err := r.inventory.PresaleCodes(ctx, actorOf(ctx), of, from, int(first))
	if err != nil {
		return nil, err
	}
	var c generated.PresaleCodeConnection
	c.Edges, c.Nodes, c.PageInfo = connect(codes, more,
		func(code inventory.PresaleCode) string { return encodeCursor(listPresaleCodes, code.Code) }, presaleCodeView,
		func(cursor string, node generated.PresaleCode) generated.PresaleCodeEdge {
			return generated.PresaleCodeEdge{Cursor: cursor, Node: node}
		})
	return &c, nil
}

// CreatePresaleCodes is the resolver for the createPresaleCodes field.
func (r *mutationResolver) CreatePresaleCodes(ctx context.Context, input generated.CreatePresaleCodesInput) ([]generated.PresaleCode, error) {
	var d decoder
	show := readID[inventory.ShowKind](&d, "input.show", input.Show)
	if d.err != nil {
		return nil, d.err
	}
	codes, err := r.inventory.CreatePresaleCodes(ctx, actorOf(ctx), input.RequestKey, inventory.NewPresaleCodes{
		Show: show, Codes: input.Codes, Uses: input.Uses, OpensAt: input.OpensAt, ClosesAt: input.ClosesAt,
	})
	return each(codes, presaleCodeView), inInput(err)
}

// ChangePresaleCode is the resolver for the changePresaleCode field.
func (r *mutationResolver) ChangePresaleCode(ctx context.Context, input generated.ChangePresaleCodeInput) (*generated.PresaleCode, error) {
	var d decoder
	id := readID[inventory.PresaleCodeKind](&d, "input.presaleCode", input.PresaleCode)
	if d.err != nil {
		return nil, d.err
	}
	code, err := r.inventory.ChangePresaleCode(ctx, actorOf(ctx), input.RequestKey, id, inventory.PresaleChange{
		Uses: input.Uses, OpensAt: input.OpensAt, ClosesAt: input.ClosesAt,
	})
	return one(code, inInput(err), presaleCodeView)
}

func presaleCodeView(c inventory.PresaleCode) generated.PresaleCode {
	return generated.PresaleCode{
		ID: c.ID.String(), Code: c.Code, ShowID: c.Show.String(), Uses: c.Uses, Held: c.Held, Used: c.Used,
		OpensAt: c.OpensAt, ClosesAt: c.ClosesAt,
	}
}
