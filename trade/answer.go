package trade

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// Outcome is what became of a message.
type Outcome string

// The outcomes of messages.
const (
	// OutcomeApplied: everything that it says was written.
	OutcomeApplied Outcome = "APPLIED"
	// OutcomeRepeated: it was applied before, and is answered as it was then.
	OutcomeRepeated Outcome = "REPEATED"
	// OutcomeRefused: nothing was written; the answer says why.
	OutcomeRefused Outcome = "REFUSED"
)

// Answer is the answer to a message.
type Answer struct {
	// Document is the standard's own answer, OTA_…RS in XML.
	Document []byte
	Outcome  Outcome
	// Nights is how many nights of room types were written.
	Nights int
}

// answerDocument is OTA_…RS.
type answerDocument struct {
	XMLName   xml.Name
	Version   string        `xml:"Version,attr"`
	EchoToken string        `xml:"EchoToken,attr,omitempty"`
	Success   *struct{}     `xml:"Success"`
	Warnings  *answerOfMany `xml:"Warnings"`
	Errors    *answerOfMany `xml:"Errors"`
}

type answerOfMany struct {
	Warnings []answerNote `xml:"Warning"`
	Errors   []answerNote `xml:"Error"`
}

type answerNote struct {
	Type noteType `xml:"Type,attr"`
	Code noteCode `xml:"Code,attr,omitempty"`
	Tag  string   `xml:"Tag,attr,omitempty"`
	Text string   `xml:",chardata"`
}

const (
	// errorRoot answers what is no message that Holdfast knows.
	errorRoot = "OTA_Error"
	// answerVersion is the answer's where the message has none.
	answerVersion = "1.000"
)

// answerTo is the document of an answer.
func answerTo(m message, n notes) ([]byte, error) {
	root := errorRoot
	if m.kind != "" {
		root = m.kind.root()
	}
	d := answerDocument{XMLName: xml.Name{Space: namespace, Local: root + "RS"}, Version: m.version, EchoToken: m.echoToken}
	if d.Version == "" || len(d.Version) > maxEchoToken {
		d.Version = answerVersion
	}
	if len(d.EchoToken) > maxEchoToken {
		d.EchoToken = ""
	}
	if len(n.errors) > 0 {
		d.Errors = &answerOfMany{Errors: answerNotes(n.errors)}
		return document(d)
	}
	d.Success = &struct{}{}
	if told := n.told(); len(told) > 0 {
		d.Warnings = &answerOfMany{Warnings: answerNotes(told)}
	}
	return document(d)
}

func answerNotes(told []note) []answerNote {
	result := make([]answerNote, len(told))
	for i, n := range told {
		result[i] = answerNote{Type: n.kind, Code: n.code, Tag: n.at, Text: n.text}
	}
	return result
}

// document writes a value as a document of its own.
func document(value any) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	encoder := xml.NewEncoder(&out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write a message: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// FaultAnswer is the answer to a message that could not even be looked at, for callers that speak XML: kind says
// whether the sender may not send it, or the system cannot take it now.
func FaultAnswer(kind FaultKind, text string) []byte {
	var n notes
	switch kind {
	case FaultDenied:
		n.fail(typeAuthorization, codeAuthorization, "", "%s", text)
	case FaultInput:
		n.fail(typeProtocol, codeInvalidRequest, "", "%s", text)
	case FaultUnavailable:
		n.fail(typeProcessing, codeUnavailable, "", "%s", text)
	case FaultInternal:
		n.fail(typeProcessing, codeSystemError, "", "%s", text)
	}
	written, err := answerTo(message{}, n)
	if err != nil {
		// A document of plain strings is always written.
		return nil
	}
	return written
}

// FaultKind is why a message was not looked at.
type FaultKind int

// The kinds of faults.
const (
	FaultInternal FaultKind = iota
	FaultDenied
	FaultInput
	FaultUnavailable
)
