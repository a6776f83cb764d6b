package deploy

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// image is the Dockerfile as far as it is checked.
type image struct {
	// lines are the instructions, of the last stage only in final.
	lines, final []string
}

func readImage(t *testing.T) image {
	t.Helper()
	var i image
	for line := range strings.Lines(string(read(t, "Dockerfile"))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "FROM ") {
			i.final = nil
		}
		i.lines = append(i.lines, line)
		i.final = append(i.final, line)
	}
	return i
}

// instruction is what follows the word, such as USER, in the last stage.
func (i image) instruction(t *testing.T, word string) string {
	t.Helper()
	for _, line := range i.final {
		if rest, found := strings.CutPrefix(line, word+" "); found {
			return rest
		}
	}
	t.Fatalf("Dockerfile: the last stage has no %s", word)
	return ""
}

// build compiles the binary exactly as the Dockerfile does, for a system, and is its path.
func (i image) build(t *testing.T, system string) string {
	t.Helper()
	for _, line := range i.lines {
		words := strings.Fields(strings.TrimPrefix(line, "RUN "))
		start := slices.Index(words, "go")
		if start < 0 || words[start+1] != "build" {
			continue
		}
		variables, args := words[:start], words[start+1:]
		out := slices.Index(args, "-o")
		if out < 0 || args[out+1] != strings.Fields(i.instruction(t, "COPY --from=build"))[0] {
			t.Fatal("Dockerfile: what is built is not what is copied into the image")
		}
		args[out+1] = filepath.Join(t.TempDir(), "holdfast")
		if !slices.Contains(variables, "CGO_ENABLED=0") {
			t.Error("Dockerfile: without CGO_ENABLED=0 the binary needs the C library")
		}
		// A checkout that git cannot read, such as one of another user, has no commit to stamp.
		args = slices.Insert(args, 1, "-buildvcs=false")
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = root
		cmd.Env = append(append(os.Environ(), variables...), "GOOS="+system)
		if message, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, message)
		}
		return args[slices.Index(args, "-o")+1]
	}
	t.Fatal("Dockerfile: nothing is built")
	return ""
}

// checkStatic refuses a binary that needs anything of the image.
func checkStatic(t *testing.T, path string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a %s segment, so it is not static", segment.Type)
		}
	}
	libraries, err := file.ImportedLibraries()
	if err != nil || len(libraries) > 0 {
		t.Errorf("the binary needs the libraries %v (%v)", libraries, err)
	}
}

func (i image) check(t *testing.T, p program) {
	t.Helper()
	if user := regexp.MustCompile(`^([0-9]+):[0-9]+$`).FindStringSubmatch(i.instruction(t, "USER")); user == nil || user[1] == "0" {
		t.Error("Dockerfile: expected USER with the numbers of somebody who is not root")
	}
	if entry := i.instruction(t, "ENTRYPOINT"); entry != strconv.Quote(strings.Fields(i.instruction(t, "COPY --from=build"))[1]) &&
		entry != "["+strconv.Quote(strings.Fields(i.instruction(t, "COPY --from=build"))[1])+"]" {
		t.Errorf("Dockerfile: ENTRYPOINT %s is not what was copied", entry)
	}
	name, value, _ := strings.Cut(i.instruction(t, "ENV"), "=")
	if name != "HOLDFAST_LISTEN" || value != "0.0.0.0:"+i.instruction(t, "EXPOSE") {
		t.Errorf("Dockerfile: ENV %s=%s does not listen where EXPOSE says", name, value)
	}
	p.check(t, "Dockerfile", strings.Fields(strings.Trim(i.instruction(t, "CMD"), `[]"`)), []string{name})

	module := regexp.MustCompile(`(?m)^go ([0-9]+\.[0-9]+)`).FindSubmatch(read(t, filepath.Join(root, "go.mod")))
	if module == nil || !slices.Contains(i.lines, "FROM golang:"+string(module[1])+" AS build") {
		t.Errorf("Dockerfile: expected to build with golang:%s, as go.mod says", module[1])
	}
}

// TestFilesFitTheProgram builds the binary as the image has it, and holds every file against what
// it says about itself.
func TestFilesFitTheProgram(t *testing.T) {
	t.Parallel()
	dockerfile := readImage(t)
	inImage := dockerfile.build(t, "linux")
	checkStatic(t, inImage)
	binary := inImage
	if runtime.GOOS != "linux" {
		binary = dockerfile.build(t, runtime.GOOS)
	}
	if version := output(t, binary, "version"); !strings.HasPrefix(version, "holdfast ") {
		t.Errorf("holdfast version printed %q", version)
	}
	p, served := askProgram(t, binary), readHTTP(t)

	t.Run("image", func(t *testing.T) { t.Parallel(); dockerfile.check(t, p) })
	t.Run("compose", func(t *testing.T) { t.Parallel(); readCompose(t).check(t, p, served) })
	t.Run("kubernetes", func(t *testing.T) { t.Parallel(); checkKubernetes(t, p, served) })
	t.Run("documents", func(t *testing.T) { t.Parallel(); checkDocuments(t, p) })
	t.Run("queries", func(t *testing.T) { t.Parallel(); checkQueries(t, p) })
}
