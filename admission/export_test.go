package admission

import "time"

// ShiftTime makes the process's own time jump, as a computer that slept or was set does.
func (s *Service) ShiftTime(by time.Duration) {
	steady := s.elapsed
	s.elapsed = func() time.Duration { return steady() + by }
}

// Kill ends a process with what it has not written.
func (s *Service) Kill() {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, c := range s.rooms.Values() {
		c.lock.Lock()
		clear(c.changed)
		c.lock.Unlock()
	}
	s.closed = true
}
