// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/job"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func ago(d time.Duration) *metav1.Time { return new(metav1.NewTime(clitest.Ago(d))) }

// minutes are the times of a status: minutes before now, none where they are negative.
func minutes(trigger, begun, wait, finished int) func(*lsv1alpha1.RunStatus) {
	at := func(m int) *metav1.Time {
		if m < 0 {
			return nil
		}
		return ago(time.Duration(m) * time.Minute)
	}
	return func(s *lsv1alpha1.RunStatus) {
		s.TransitionTimes = &lsv1alpha1.TransitionTimes{
			TriggerTime: at(trigger), InitTime: at(begun), WaitTime: at(wait), FinishedTime: at(finished),
		}
	}
}

// failing says what has gone wrong, some minutes ago.
func failing(message string, m int) func(*lsv1alpha1.RunStatus) {
	return func(s *lsv1alpha1.RunStatus) {
		clitest.Error("Timeout", message)(s)
		s.LastError.LastTransitionTime = *ago(time.Duration(m) * time.Minute)
	}
}

// shopAtWork stores a tree in the middle of a job: the database has failed, and the web server waits for it.
func shopAtWork(t *testing.T, server *testkit.APIServer, namespace string) {
	t.Helper()
	shop := testkit.Installation(namespace, "shop").Build()
	database := clitest.Nested(shop, "database").ExportData("address", "address").Build()
	web := clitest.Nested(shop, "web").ImportData("address", "address").Build()
	execution := clitest.ExecutionOf(database, "postgres")
	item := clitest.ItemOf(execution, "postgres")
	shop.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing, minutes(20, 19, 18, -1))
	database.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, minutes(18, 18, 17, 5))
	web.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, clitest.Of(clitest.EarlierJob), minutes(90, 90, 90, 80))
	execution.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, minutes(17, 17, 16, 6))
	item.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, minutes(16, 15, -1, 7), failing("0 of 1 pods are ready", 7))
	clitest.Store(t, server, shop, database, web, execution, item)
}

// say records an event, some minutes ago.
func say(t *testing.T, server *testkit.APIServer, about client.Object, kind, reason string, m int, changes ...func(*eventsv1.Event)) {
	t.Helper()
	set, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "event-"}, EventTime: metav1.NewMicroTime(clitest.Ago(time.Duration(m) * time.Minute)),
		ReportingController: "espalier", ReportingInstance: "test", Action: "Reconcile", Reason: reason, Type: corev1.EventTypeNormal,
		Note:      "of " + about.GetName(),
		Regarding: corev1.ObjectReference{Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName()},
	}
	for _, change := range changes {
		change(event)
	}
	if _, err = set.EventsV1().Events(about.GetNamespace()).Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// timeline is what the test reads of the output.
type timeline struct {
	Flow, Job, State, Phase string
	Generation              int64
	Seconds                 float64
	Start, End              *time.Time
	Objects                 []struct {
		Kind, Name, As, State, Phase string
		Depth                        int
		Parts                        []struct {
			What    string
			Seconds float64
			End     *time.Time
		}
	}
	Events []struct {
		Time                        time.Time
		Kind, Name, Reason, Message string
	}
}

// told are the lines of a timeline: the parts of objects in minutes, and events with the minutes since then.
func (l timeline) told() []string {
	var lines []string
	for _, o := range l.Objects {
		line := fmt.Sprintf("%d %s/%s %s:", o.Depth, o.Kind, o.Name, o.Phase)
		for _, p := range o.Parts {
			line += fmt.Sprintf(" %s %.0f", p.What, p.Seconds/60)
			if p.End == nil {
				line += "+"
			}
		}
		lines = append(lines, line)
	}
	for _, e := range l.Events {
		since := clitest.Now().Sub(e.Time).Round(time.Minute).Minutes()
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("-%.0f %s/%s %s %s", since, e.Kind, e.Name, e.Reason, e.Message)))
	}
	return lines
}

func TestTheTimelineOfAJob(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	shopAtWork(t, server, namespace)
	for reason, m := range map[string]int{"Init": 19, "Progressing": 12, "Succeeded": 80} { // The last is of an earlier job.
		say(t, server, testkit.Installation(namespace, "shop").Build(), "Installation", reason, m)
	}
	say(t, server, testkit.Installation(namespace, "shop-database").Build(), "Installation", "Failed", 5)
	say(t, server, testkit.Installation(namespace, "stranger").Build(), "Installation", "Init", 4)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"shop", "-o", "json"}})
	var told timeline
	if err := json.Unmarshal([]byte(got.Stdout), &told); err != nil || got.Code != cli.ExitOK || got.Stderr != "" {
		t.Fatalf("exit code %d, %v:\n%s%s", got.Code, err, got.Stdout, got.Stderr)
	}
	want := []string{
		"0 Installation/shop Progressing: waits 1 init 1 works 18+",
		"1 Installation/shop-database Failed: init 1 works 12",
		"2 Execution/shop-database Failed: init 1 works 10",
		"3 DeployItem/shop-database-postgres Failed: waits 1 works 8",
		"1 Installation/shop-web Pending: waits 20+",
		"-20 Installation/shop Triggered",
		"-19 Installation/shop Init of shop",
		"-18 Installation/shop-database Triggered",
		"-17 Execution/shop-database Triggered",
		"-16 DeployItem/shop-database-postgres Triggered",
		"-12 Installation/shop Progressing of shop",
		"-7 DeployItem/shop-database-postgres Failed 0 of 1 pods are ready",
		"-6 Execution/shop-database Failed",
		"-5 Installation/shop-database Failed of shop-database",
	}
	if diff := cmp.Diff(want, told.told()); diff != "" {
		t.Error(diff)
	}
	if told.Job != clitest.Job || told.Flow != "Job" || told.End != nil || told.State != "Running" || told.Generation != 1 {
		t.Errorf("%+v", told)
	}
	asYAML := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"Installation/shop", "-o", "yaml"}})
	var again timeline
	if err := yaml.Unmarshal([]byte(asYAML.Stdout), &again); err != nil || !cmp.Equal(again.told(), want) {
		t.Errorf("as YAML, %v:\n%s%s", err, asYAML.Stdout, asYAML.Stderr)
	}

	names := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"shop", "-o", "name"}})
	if !strings.HasPrefix(names.Stdout, "installation.landscaper.gardener.cloud/shop\ninstallation.landscaper.gardener.cloud/shop-database\n") ||
		!strings.Contains(names.Stdout, "\ndeployitem.landscaper.gardener.cloud/shop-database-postgres\n") {
		t.Errorf("%+v", names)
	}

	plain := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"shop", "--utc"}})
	began := clitest.Ago(20 * time.Minute).UTC().Truncate(time.Second)
	headline := "Job " + clitest.Job + " of installation shop: running since " + began.Format("2006-01-02 15:04:05") + " UTC, 20m so far\n"
	if plain.Code != cli.ExitOK || !strings.HasPrefix(plain.Stdout, headline) || strings.Contains(plain.Stdout, "█") ||
		!strings.Contains(plain.Stdout, " 0 of 1 pods are ready\n") {
		t.Errorf("exit code %d:\n%s%s", plain.Code, plain.Stdout, plain.Stderr)
	}
	screen := clitest.Run(t, server, namespace, clitest.Call{
		Command: job.NewTimeline, Args: []string{"shop"}, Terminal: &clitest.Terminal{Width: 140, Height: 40},
	})
	if !strings.Contains(screen.Stdout, "█") || !strings.Contains(screen.Stdout, "\x1b[31m") {
		t.Errorf("on a terminal:\n%s", screen.Stdout)
	}
}

func TestTimelinesWithoutAJob(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	flow := testkit.Installation(namespace, "flow").Continuous().Build()
	flow.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, minutes(9, 9, 8, 3))
	flow.Status.JobID, flow.Status.JobIDFinished = "", ""
	clitest.Store(t, server, flow, testkit.Installation(namespace, "fresh").Build())

	got := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"flow", "-o", "json"}})
	var told timeline
	if err := json.Unmarshal([]byte(got.Stdout), &told); err != nil {
		t.Fatalf("%v:\n%s%s", err, got.Stdout, got.Stderr)
	}
	want := []string{
		"0 Installation/flow Succeeded: init 1 works 5", "-9 Installation/flow Triggered", "-3 Installation/flow Succeeded",
	}
	if diff := cmp.Diff(want, told.told()); diff != "" || told.Flow != "Continuous" || told.Job != "" || told.Seconds != 360 {
		t.Errorf("%s\n%+v", diff, told)
	}
	fresh := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"fresh"}})
	if fresh.Code != cli.ExitOK || fresh.Stdout != "" || !strings.Contains(fresh.Stderr, "fresh has had no job yet. To start one: espalier reconcile fresh") {
		t.Errorf("of one that never had a job: exit code %d:\n%s%s", fresh.Code, fresh.Stdout, fresh.Stderr)
	}
	for argument, code := range map[string]int{"nope": cli.ExitNotFound, "deployitem/x": cli.ExitError} {
		if lost := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{argument}}); lost.Code != code {
			t.Errorf("%s: exit code %d:\n%s", argument, lost.Code, lost.Stderr)
		}
	}
}

// Who may read the objects and not the events gets the rest.
func TestATimelineWithoutTheRightToReadEvents(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	shopAtWork(t, server, namespace)
	allow(t, server, namespace, "landscaper.gardener.cloud", "installations", "executions", "deployitems")
	got := clitest.Run(t, server, namespace, clitest.Call{Command: job.NewTimeline, Args: []string{"shop", "--as", visitor}})
	if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, "Installation/shop-database") ||
		!strings.HasPrefix(got.Stderr, "Events are missing below: cannot list the events of namespace <namespace>: ") {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
