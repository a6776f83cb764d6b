// Package deploy owns what runs Holdfast in containers: the image, compose, Kubernetes, alert rules,
// the dashboard and the runbooks. It has no code of its own; its tests keep these files equal to the
// program: no file names a command, variable, probe, metric, label or table that does not exist.
//
// It does not own how the program behaves, and its tests start no container.
package deploy
