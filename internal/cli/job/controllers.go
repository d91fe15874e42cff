// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/web/loglines"
	"espalier.dev/internal/web/view"
)

// maxLate is how many lines are kept about objects of the namespace that are not in the tree yet.
const maxLate = 1000

// controllerLog is what is known of the logs of the controllers.
type controllerLog struct {
	// tree are the objects of the tree, also those that have gone.
	tree map[view.Ref]bool
	// last are the times of the last lines by container, and offset is where the file of "espalier up" was read to.
	last   map[string]time.Time
	offset int64
	// late are lines about objects that were not in the tree when they were read: they may have been created in the meantime.
	late []controllerLine
}

// controllerLine is a line about objects, of which the first that belongs to the tree counts.
type controllerLine struct {
	line
	about []view.Ref
}

// controllerLines are the lines of the controllers about objects of the tree, in the order of their times, without those that were returned
// before. The problems say why some may be missing.
func (s *session) controllerLines(ctx context.Context, all *found) (lines []line, problems []string) {
	if !s.options.controllers {
		return nil, nil
	}
	for _, object := range all.objects {
		s.controllers.tree[object] = true
	}
	candidates := s.controllers.late
	problems = s.readControllers(ctx, s.begin(all), func(l controllerLine) { candidates = append(candidates, l) })
	if ctx.Err() != nil {
		problems = nil // The user has interrupted the command.
	}
	s.controllers.late = nil
	for _, l := range candidates {
		at := slices.IndexFunc(l.about, func(object view.Ref) bool { return s.controllers.tree[object] })
		if at < 0 {
			s.controllers.late = append(s.controllers.late, l)
			continue
		}
		l.title = "controllers " + l.about[at].Kind + "/" + l.about[at].Name
		lines = append(lines, l.line)
	}
	s.controllers.late = s.controllers.late[max(0, len(s.controllers.late)-maxLate):]
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	return lines, problems
}

// readControllers reads the logs of the pods of the controllers, or else the file to which "espalier up" logs.
func (s *session) readControllers(ctx context.Context, begin time.Time, keep func(controllerLine)) (problems []string) {
	options := metav1.ListOptions{LabelSelector: loglines.ControllersLabel}
	pods, err := s.finder.host.Pods(s.options.system).List(ctx, options)
	if err != nil {
		return []string{fmt.Sprintf("cannot find the pods of the controllers in namespace %s: %v", s.options.system, err)}
	}
	if len(pods.Items) == 0 {
		return s.readOwnLog(begin, keep)
	}
	var here found
	for i := range pods.Items {
		here.addPod(source{pod: &pods.Items[i], pods: s.finder.host, since: begin, controllers: true})
	}
	for _, from := range here.sources {
		last, err := s.read(ctx, from, s.controllers.last[from.key()], func(l line) error {
			s.keepLine(l, keep)
			return nil
		})
		s.controllers.last[from.key()] = last
		if err != nil {
			problems = append(problems, fmt.Sprintf("cannot read the log of the controllers in Pod %s/%s: %v", from.pod.Namespace, from.pod.Name, err))
		}
	}
	return problems
}

// keepLine keeps a line if it is about objects of the namespace.
func (s *session) keepLine(l line, keep func(controllerLine)) {
	parsed, ok := loglines.Parse(l.text)
	if !ok {
		return
	}
	if l.text = parsed.Text; parsed.Level != "info" {
		l.text = parsed.Level + " " + l.text
	}
	l.text = display.Clean(display.Verbatim(strings.ReplaceAll(l.text, "\n", " ")))
	if l.at.IsZero() {
		l.at = parsed.Time
	}
	var about []view.Ref
	for _, kind := range loglines.Kinds {
		if object := parsed.About[kind]; object.Name != "" && object.Namespace == s.finder.connection.Namespace {
			about = append(about, view.Ref{Kind: kind, Namespace: object.Namespace, Name: object.Name})
		}
	}
	if len(about) > 0 {
		keep(controllerLine{l, about})
	}
}

// readOwnLog reads the file to which "espalier up" logs, if the command uses its control plane.
func (s *session) readOwnLog(begin time.Time, keep func(controllerLine)) (problems []string) {
	path := s.options.access.BesideKubeconfig(cli.LogOfUp)
	if path == "" {
		return []string{fmt.Sprintf("no Pod in namespace %s has the label %s, so the controllers run elsewhere: name their namespace with "+
			"--system-namespace, or see their logs where they run; espalier up logs to %s in its data directory, or to its terminal",
			s.options.system, loglines.ControllersLabel, cli.LogOfUp)}
	}
	take := func(text string) {
		if parsed, ok := loglines.Parse(text); ok && !parsed.Time.Before(begin) {
			s.keepLine(line{text: text}, keep)
		}
	}
	if s.controllers.offset == 0 { // A restart sets the former log aside.
		if _, err := readLines(path+".1", 0, take); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Sprintf("cannot read the log of the controllers: %v", err))
		}
	}
	offset, err := readLines(path, s.controllers.offset, take)
	if err != nil {
		problems = append(problems, fmt.Sprintf("cannot read the log of the controllers: %v", err))
	}
	s.controllers.offset = offset
	return problems
}

// readLines reads the complete lines of a file from an offset on, or from its beginning if it has become shorter. It returns the offset
// behind the last one.
func readLines(path string, offset int64, take func(text string)) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return offset, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || info.Size() < offset {
		offset = 0
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return offset, err
	}
	for reader := bufio.NewReader(file); ; {
		text, err := reader.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return offset, nil
		}
		if err != nil {
			return offset, err
		}
		offset += int64(len(text))
		take(strings.TrimSuffix(text, "\n"))
	}
}

// lastOf are the last lines that --tail leaves.
func (o logsOptions) lastOf(lines []line) []line {
	if o.tail == everyLine {
		return lines
	}
	return lines[max(0, len(lines)-int(o.tail)):]
}

// printControllers prints the lines of the controllers that were not printed before.
func (f *follower) printControllers(ctx context.Context, all *found) (problems []string) {
	first := len(f.controllers.tree) == 0
	lines, problems := f.controllerLines(ctx, all)
	if first {
		lines = f.options.lastOf(lines)
	}
	for _, l := range lines {
		if f.print(source{}, l) != nil {
			break
		}
	}
	return problems
}
