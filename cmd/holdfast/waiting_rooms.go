package main

import (
	"fmt"
	"log/slog"

	"github.com/holdfast/holdfast/admission"
	"github.com/holdfast/holdfast/admission/proofofwork"
	"github.com/holdfast/holdfast/policies"
)

// newWaitingRooms is the waiting rooms of a process, with the verifiers that rooms can ask for.
func newWaitingRooms(s *store, policy *policies.Enforcer, logger *slog.Logger) (*admission.Service, error) {
	work, err := proofofwork.New(proofofwork.DefaultBits)
	if err != nil {
		return nil, err
	}
	config := admission.Config{Verifiers: []admission.Verifier{work}, Logger: logger}
	if s.registry != nil {
		config.Metrics = s.registry
	}
	rooms, err := admission.NewService(s.db, policy, config)
	if err != nil {
		return nil, fmt.Errorf("set up the waiting rooms: %w", err)
	}
	return rooms, nil
}
