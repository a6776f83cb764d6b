package graph

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/holdfast/holdfast/internal/fault"
	"github.com/holdfast/holdfast/tenants"
)

// socketProtocol is the GraphQL over WebSocket protocol.
const socketProtocol = "graphql-transport-ws"

// The protocol's types of message.
const (
	socketInit      = "connection_init"
	socketAck       = "connection_ack"
	socketPing      = "ping"
	socketPong      = "pong"
	socketSubscribe = "subscribe"
	socketNext      = "next"
	socketError     = "error"
	socketComplete  = "complete"
)

// The codes with which a socket is closed: the protocol's own, and of RFC 6455.
const (
	closeBadMessage     websocket.StatusCode = 4400
	closeUnauthorized   websocket.StatusCode = 4401
	closeForbidden      websocket.StatusCode = 4403
	closeNotAcceptable  websocket.StatusCode = 4406
	closeInitTimeout    websocket.StatusCode = 4408
	closeSlowConsumer   websocket.StatusCode = 4413
	closeSubscriberKnow websocket.StatusCode = 4409
	closeTooManyInits   websocket.StatusCode = 4429
)

// Limits of one socket.
const (
	socketInitTimeout   = 10 * time.Second
	maxSocketStreams    = 20
	maxSocketQueue      = 16
	maxSubscriberID     = 255
	socketMessageExtras = 64 << 10
)

type socketMessage struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// socket is one connection of a client, with its subscriptions.
type socket struct {
	t        *transport
	executor graphql.GraphExecutor
	conn     *websocket.Conn
	cancel   context.CancelCauseFunc
	// out is what is still to be written. Those who fill it wait, so that a slow client holds up its own
	// subscriptions only.
	out chan []byte

	actor tenants.Actor
	who   credentials
	// site is where it comes from; see api.siteOf.
	site string

	mu      sync.Mutex
	streams map[string]*socketStream
	running sync.WaitGroup
}

// closing is why a socket is closed by the server.
type closing struct {
	code   websocket.StatusCode
	reason string
}

func (c closing) Error() string { return c.reason }

// serveSocket carries subscriptions over a WebSocket. The client identifies itself in the headers, or,
// as browsers must, in the payload of connection_init.
func (t *transport) serveSocket(w http.ResponseWriter, r *http.Request, executor graphql.GraphExecutor) {
	site := t.api.siteOf(r)
	if v := t.api.gate.beforeKnown(site); v.refused != nil {
		v.tell(w)
		answer(w, http.StatusTooManyRequests, v.refused)
		return
	}
	if err := onlyOne(r, "Authorization", headerSession, headerTenant); err != nil {
		answer(w, statusOf(err), t.faults.present(r.Context(), err))
		return
	}
	leave, err := t.streams.enter(t.bounds(), site)
	if err != nil {
		answer(w, http.StatusServiceUnavailable, t.faults.present(r.Context(), err))
		return
	}
	defer leave()
	// Which origins may call was judged before; see api.allowOrigin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{socketProtocol}, InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	conn.SetReadLimit(int64(t.config.MaxQueryBytes) + socketMessageExtras)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	s := &socket{
		t: t, executor: executor, conn: conn, cancel: cancel, out: make(chan []byte, maxSocketQueue), streams: map[string]*socketStream{},
		who: credentialsOf(r), site: site,
	}
	s.serve(ctx)
}

// serve runs a socket to its end.
func (s *socket) serve(ctx context.Context) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(ctx)
	}()
	pinged := make(chan struct{})
	go func() {
		defer close(pinged)
		s.ping(ctx)
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer func() {
			if caught := recover(); caught != nil {
				s.cancel(s.t.faults.recover(ctx, caught))
			}
		}()
		if err := s.read(ctx); err != nil {
			s.cancel(err)
		}
	}()
	select {
	case <-ctx.Done():
	case <-s.t.streams.stopping:
		s.cancel(closing{websocket.StatusGoingAway, errStopping.Message})
	}
	s.running.Wait()
	<-written
	var why closing
	if errors.As(context.Cause(ctx), &why) {
		_ = s.conn.Close(why.code, why.reason)
	} else {
		_ = s.conn.CloseNow()
	}
	// Both end with the connection.
	<-read
	<-pinged
}

// ping finds out whether the client is still there. It waits for the answer, which the reader takes, and
// so stands beside the writer, for whom the reader may be waiting.
func (s *socket) ping(ctx context.Context) {
	again := time.NewTicker(pingInterval)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
			err := s.conn.Ping(limited)
			cancel()
			if err != nil {
				s.cancel(err)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// write writes what is to be told.
func (s *socket) write(ctx context.Context) {
	for {
		select {
		case message := <-s.out:
			began := time.Now()
			// A write that is cut off takes the connection with it, and the frame that says why it closes.
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeLimit)
			err := s.conn.Write(limited, websocket.MessageText, message)
			cancel()
			switch {
			case err != nil:
				s.cancel(errors.Join(errSlow, err))
				return
			case time.Since(began) > slowWrite:
				s.cancel(closing{closeSlowConsumer, slowConsumer})
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// send waits for room; false means that the socket has ended.
func (s *socket) send(ctx context.Context, message socketMessage) bool {
	encoded, err := json.Marshal(message)
	if err != nil {
		s.cancel(err)
		return false
	}
	select {
	case s.out <- encoded:
		return true
	case <-ctx.Done():
		return false
	}
}

// read takes the client's messages until there are no more. The error is why the socket ends.
func (s *socket) read(ctx context.Context) error {
	if s.conn.Subprotocol() != socketProtocol {
		return closing{closeNotAcceptable, "expected the subprotocol " + socketProtocol}
	}
	timer := time.AfterFunc(socketInitTimeout, func() { s.cancel(closing{closeInitTimeout, "connection initialisation timeout"}) })
	defer timer.Stop()
	ready := false
	for {
		kind, text, err := s.conn.Read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		var message socketMessage
		if kind != websocket.MessageText || json.Unmarshal(text, &message) != nil {
			return closing{closeBadMessage, "expected a JSON object with a type"}
		}
		switch {
		case ctx.Err() != nil:
			// The socket is being closed; what comes now is not for anybody.
		case message.Type == socketInit && ready:
			return closing{closeTooManyInits, "too many initialisation requests"}
		case message.Type == socketInit:
			if err := s.init(ctx, message.Payload); err != nil {
				return err
			}
			timer.Stop()
			ready = true
		case message.Type == socketPing:
			s.send(ctx, socketMessage{Type: socketPong})
		case message.Type == socketPong:
		case !ready:
			return closing{closeUnauthorized, "expected connection_init first"}
		case message.Type == socketSubscribe:
			if err := s.subscribe(ctx, message); err != nil {
				return err
			}
		case message.Type == socketComplete:
			s.mu.Lock()
			if stream := s.streams[message.ID]; stream != nil {
				stream.cancel()
				delete(s.streams, message.ID)
			}
			s.mu.Unlock()
		default:
			return closing{closeBadMessage, "expected connection_init, ping, pong, subscribe or complete"}
		}
	}
}

// init takes who the client is.
func (s *socket) init(ctx context.Context, payload json.RawMessage) error {
	var given struct {
		Authorization string `json:"Authorization"`
		Session       string `json:"Holdfast-Session"`
		Tenant        string `json:"Holdfast-Tenant"`
	}
	if len(payload) > 0 && json.Unmarshal(payload, &given) != nil {
		return closing{closeBadMessage, "connection_init: expected an object with Authorization, Holdfast-Session and Holdfast-Tenant as text"}
	}
	if given.Authorization != "" {
		s.who.bearer = given.Authorization
	}
	if given.Session != "" {
		s.who.session = given.Session
	}
	if given.Tenant != "" {
		s.who.tenant = given.Tenant
	}
	actor, err := s.t.api.actorFor(ctx, s.who)
	if err != nil {
		if fault.KindOf(err) == fault.KindUnauthenticated {
			s.t.api.gate.unknown(s.site)
		}
		shown := s.t.faults.present(ctx, err)
		return closing{closeForbidden, shortReason(shown.Message)}
	}
	s.actor = actor
	s.send(ctx, socketMessage{Type: socketAck})
	return nil
}

// maxReason is how much text a close frame carries.
const maxReason = 123

func shortReason(text string) string { return text[:min(len(text), maxReason)] }

// subscribe begins one of the client's subscriptions. The error closes the socket; what is wrong with
// the subscription alone is told under its id.
func (s *socket) subscribe(ctx context.Context, message socketMessage) error {
	if message.ID == "" || len(message.ID) > maxSubscriberID {
		return closing{closeBadMessage, "subscribe: expected an id of 1 to 255 bytes"}
	}
	var request struct {
		Query         string          `json:"query"`
		OperationName string          `json:"operationName"`
		Variables     json.RawMessage `json:"variables"`
		Extensions    json.RawMessage `json:"extensions"`
	}
	if json.Unmarshal(message.Payload, &request) != nil {
		return closing{closeBadMessage, "subscribe: expected a payload with query and variables"}
	}
	s.mu.Lock()
	_, known := s.streams[message.ID]
	many := len(s.streams) >= maxSocketStreams
	s.mu.Unlock()
	switch {
	case known:
		return closing{closeSubscriberKnow, shortReason("subscriber for " + message.ID + " already exists")}
	case many:
		return s.refuse(ctx, message.ID, gqlerror.List{failure(codeRateLimited, "there are too many subscriptions on this connection")})
	}
	if v := s.t.api.gate.admit(s.site, s.actor); v.refused != nil {
		return s.refuse(ctx, message.ID, gqlerror.List{v.refused})
	}
	params, refused := s.t.params(request.Query, request.OperationName, request.Variables, request.Extensions)
	if refused != nil {
		return s.refuse(ctx, message.ID, gqlerror.List{refused.err})
	}
	own, cancel := context.WithCancel(ctx)
	stream := &socketStream{socket: s, ctx: own, cancel: cancel, id: message.ID}
	s.mu.Lock()
	s.streams[message.ID] = stream
	s.mu.Unlock()
	s.running.Go(func() {
		defer cancel()
		s.run(ctx, stream, params)
	})
	return nil
}

func (s *socket) refuse(ctx context.Context, id string, errs gqlerror.List) error {
	payload, err := json.Marshal(errs)
	if err != nil {
		return err
	}
	s.send(ctx, socketMessage{ID: id, Type: socketError, Payload: payload})
	return nil
}

// run runs a subscription; ctx is the socket's.
func (s *socket) run(ctx context.Context, stream *socketStream, params *graphql.RawParams) {
	own, id := stream.ctx, stream.id
	var errs gqlerror.List
	defer func() {
		if caught := recover(); caught != nil {
			errs = gqlerror.List{s.t.faults.present(ctx, s.t.faults.recover(ctx, caught))}
		}
		s.mu.Lock()
		if s.streams[id] == stream {
			delete(s.streams, id)
		}
		s.mu.Unlock()
		s.t.metrics.subscriptions.WithLabelValues(s.endOf(ctx, own, errs)).Inc()
		switch {
		case ctx.Err() != nil: // the socket is closed instead
		case len(errs) > 0:
			if err := s.refuse(ctx, id, errs); err != nil {
				s.cancel(err)
			}
		case own.Err() == nil:
			s.send(ctx, socketMessage{ID: id, Type: socketComplete})
		}
	}()
	errs = s.t.subscribe(own, s.executor, params, s.actor, s.who, s.site, stream) //nolint:contextcheck // own is made of ctx
}

func (s *socket) endOf(ctx, own context.Context, errs gqlerror.List) string {
	var why closing
	if errors.As(context.Cause(ctx), &why) {
		if why.code == closeSlowConsumer {
			return endSlow
		}
		if why.code == websocket.StatusGoingAway {
			return endStopping
		}
	}
	return s.t.endOf(own, errs)
}

// socketStream is one subscription of a socket.
type socketStream struct {
	socket *socket
	ctx    context.Context
	cancel context.CancelFunc
	id     string
}

func (s *socketStream) next(response *graphql.Response) bool {
	return s.socket.send(s.ctx, socketMessage{ID: s.id, Type: socketNext, Payload: encode(response)})
}
