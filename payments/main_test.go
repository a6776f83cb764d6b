package payments_test

import (
	"testing"

	"github.com/holdfast/holdfast/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
