package trade

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/civil"
)

// namespace is that of OpenTravel's messages.
const namespace = "http://www.opentravel.org/OTA/2003/05"

// element is a part of a message. What is read of it is marked, so that the rest can be told.
type element struct {
	name       string
	foreign    bool
	attributes []attribute
	children   []*element
	// hasText is whether there is text between its tags; nothing that Holdfast keeps is written so.
	hasText bool
	parent  *element
	// nth is the place among siblings of the same name, from 1; named counts the children by name.
	nth   int
	named map[string]int
	read  bool
}

type attribute struct {
	name, value string
	read        bool
}

// parseElement reads a whole document. It admits UTF-8 only, no document type, hence no entities but XML's own five, and
// so many elements, so deep. The error says what was expected.
func parseElement(document []byte) (*element, error) {
	document = bytes.TrimPrefix(document, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(document) {
		return nil, errors.New("expected a document in UTF-8")
	}
	decoder := xml.NewDecoder(bytes.NewReader(document))
	decoder.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("expected a document in UTF-8, got the encoding %s", quoted(charset))
	}
	var root, at *element
	depth, count := 0, 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, malformed(err)
		}
		switch token := token.(type) {
		case xml.Directive:
			return nil, errors.New("a document type is not accepted: expected a document without DOCTYPE and entities")
		case xml.StartElement:
			depth, count = depth+1, count+1
			switch {
			case depth > maxDepth:
				return nil, fmt.Errorf("elements are nested more than %d deep", maxDepth)
			case count > maxElements:
				return nil, fmt.Errorf("expected at most %d elements; send the message in parts", maxElements)
			case root != nil && at == nil:
				return nil, errors.New("expected one root element")
			}
			opened, err := newElement(token, at)
			if err != nil {
				return nil, err
			}
			if root == nil {
				root = opened
			}
			at = opened
		case xml.EndElement:
			depth--
			at = at.parent
		case xml.CharData:
			switch {
			case len(bytes.TrimSpace(token)) == 0:
			case at == nil:
				return nil, errors.New("expected nothing but the root element")
			default:
				at.hasText = true
			}
		}
	}
	if root == nil {
		return nil, errors.New("expected an XML document, got none")
	}
	return root, nil
}

func malformed(err error) error {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %s", syntax.Line, syntax.Msg)
	}
	return err
}

func newElement(start xml.StartElement, parent *element) (*element, error) {
	if len(start.Attr) > maxAttributes {
		return nil, fmt.Errorf("element %s: expected at most %d attributes", quoted(start.Name.Local), maxAttributes)
	}
	e := &element{name: start.Name.Local, foreign: start.Name.Space != namespace, parent: parent}
	for _, a := range start.Attr {
		// What names namespaces and schemas says nothing of hotels.
		if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" || a.Name.Space == "http://www.w3.org/2001/XMLSchema-instance" {
			continue
		}
		for _, known := range e.attributes {
			if known.name == a.Name.Local {
				return nil, fmt.Errorf("element %s: the attribute %s is there twice", quoted(e.name), quoted(known.name))
			}
		}
		e.attributes = append(e.attributes, attribute{name: a.Name.Local, value: a.Value})
	}
	if parent != nil {
		if parent.named == nil {
			parent.named = map[string]int{}
		}
		parent.named[e.name]++
		e.nth = parent.named[e.name]
		parent.children = append(parent.children, e)
	}
	return e, nil
}

// path is where an element stands, such as OTA_HotelAvailNotifRQ/AvailStatusMessages/AvailStatusMessage[2].
func (e *element) path() string {
	if e.parent == nil {
		return e.name
	}
	step := e.name
	if e.parent.named[e.name] > 1 {
		step += "[" + strconv.Itoa(e.nth) + "]"
	}
	return e.parent.path() + "/" + step
}

// all are the children of a name, marked as read.
func (e *element) all(name string) []*element {
	if e == nil {
		return nil
	}
	var found []*element
	for _, child := range e.children {
		if child.name == name && !child.foreign {
			child.read = true
			found = append(found, child)
		}
	}
	return found
}

// one is the child of a name, or nil. A second one is an error of the message.
func (e *element) one(n *notes, name string) *element {
	found := e.all(name)
	if len(found) == 0 {
		return nil
	}
	if len(found) > 1 {
		n.fail(typeProtocol, codeInvalidValue, found[1].path(), "expected one element %s", name)
	}
	return found[0]
}

// value is an attribute, marked as read.
func (e *element) value(name string) (string, bool) {
	for i := range e.attributes {
		if a := &e.attributes[i]; a.name == name {
			a.read = true
			return strings.TrimSpace(a.value), true
		}
	}
	return "", false
}

// needed is an attribute that must be there.
func (e *element) needed(n *notes, name string) string {
	value, ok := e.value(name)
	if !ok || value == "" {
		n.fail(typeRequired, codeMissing, e.path()+"/@"+name, "expected the attribute %s", name)
	}
	return value
}

// whole is a number of an attribute; ok is false where it is missing or wrong.
func (e *element) whole(n *notes, name string, low, high int64) (number int64, ok bool) {
	value, there := e.value(name)
	if !there {
		return 0, false
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil || number < low || number > high {
		n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@"+name, "expected a whole number from %d to %d, got %s", low, high, quoted(value))
		return 0, false
	}
	return number, true
}

// flag is a boolean as XML Schema writes it.
func (e *element) flag(n *notes, name string) (yes, ok bool) {
	value, there := e.value(name)
	if !there {
		return false, false
	}
	switch strings.ToLower(value) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	n.fail(typeBusinessRule, codeInvalidValue, e.path()+"/@"+name, "expected true or false, got %s", quoted(value))
	return false, false
}

// date is a day that must be there.
func (e *element) date(n *notes, name string) (civil.Date, bool) {
	value := e.needed(n, name)
	if value == "" {
		return civil.Date{}, false
	}
	date, err := civil.ParseDate(value)
	if err != nil || date.Year < 2000 || date.Year > 2199 {
		n.fail(typeBusinessRule, codeInvalidDate, e.path()+"/@"+name, "expected a date between 2000 and 2199 such as 2027-03-14, got %s", quoted(value))
		return civil.Date{}, false
	}
	return date, true
}

// skip marks an element and all that is in it as read: it is known, and nothing that Holdfast keeps follows
// from it.
func (e *element) skip() {
	if e == nil {
		return
	}
	e.read, e.hasText = true, false
	for i := range e.attributes {
		e.attributes[i].read = true
	}
	for _, child := range e.children {
		child.skip()
	}
}

// tellUnread warns of everything that nobody has read, each sort of it once.
func (e *element) tellUnread(n *notes) {
	u := unread{times: map[string]int{}, first: map[string]*element{}}
	u.walk(e, e.name)
	for _, sort := range u.order {
		what, times := sort[strings.LastIndexByte(sort, '/')+1:], ""
		if u.times[sort] > 1 {
			times = fmt.Sprintf(", %d times", u.times[sort])
		}
		at := u.first[sort].path()
		if attribute := strings.HasPrefix(what, "@"); attribute || what == textOf {
			at += "/" + what
		}
		n.warn(at, "%s is not kept%s", what, times)
	}
}

// textOf is how a path names an element's text.
const textOf = "text()"

// unread counts the sorts of what nobody has read, by their path without places.
type unread struct {
	order []string
	times map[string]int
	first map[string]*element
}

func (u *unread) note(sort string, at *element) {
	if u.times[sort]++; u.times[sort] == 1 {
		u.first[sort] = at
		u.order = append(u.order, sort)
	}
}

func (u *unread) walk(e *element, sort string) {
	for _, a := range e.attributes {
		if !a.read {
			u.note(sort+"/@"+a.name, e)
		}
	}
	if e.hasText {
		u.note(sort+"/"+textOf, e)
	}
	for _, child := range e.children {
		if below := sort + "/" + child.name; child.read {
			u.walk(child, below)
		} else {
			u.note(below, child)
		}
	}
}
