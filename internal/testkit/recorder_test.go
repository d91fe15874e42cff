// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
)

var configMaps = testkit.Kinds(&corev1.ConfigMap{})

func TestRecorderKeepsEveryState(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", map[string]string{"round": "0"})
	recorder := testkit.Record(t, server, object.Namespace, configMaps)
	testkit.Create(t, server, object)
	want := []string{"0"}
	for round := 1; round <= 100; round++ {
		object.Data["round"] = strconv.Itoa(round)
		mustUpdate(t, server, object)
		want = append(want, object.Data["round"])
	}
	mustDelete(t, server, object.DeepCopy())
	history := recorder.Of(object)
	if got := history.Transitions("data.round"); !slices.Equal(got, want) {
		t.Errorf("the rounds were %v", got)
	}
	if history.Writes() != 102 || history[0].Change != testkit.Added || history.Last().Change != testkit.Deleted {
		t.Errorf("%d writes, from %s to %s", history.Writes(), history[0].Change, history.Last().Change)
	}
}

func TestRecorderTellsWhatWasThereBefore(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", nil)
	testkit.Create(t, server, object)
	recorder := testkit.Record(t, server, object.Namespace, configMaps)
	before := recorder.History()
	if len(before) != 1 || before[0].Change != testkit.Existing || before.Writes() != 0 {
		t.Errorf("at first: %v", before)
	}
	object.Labels = map[string]string{"example.org/tier": "one"}
	mustUpdate(t, server, object)
	since := recorder.Since(before)
	if len(since) != 1 || since[0].Change != testkit.Modified || since[0].Field("metadata.labels[example.org/tier]") != "one" {
		t.Errorf("since then: %v", since)
	}
	if again := recorder.Since(recorder.History()); len(again) != 0 {
		t.Errorf("nothing was written, and yet: %v", again)
	}
}

func TestRecorderOrdersKindsByTheServersRevisions(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	recorder := testkit.Record(t, server, namespace, testkit.Kinds(&corev1.ConfigMap{}, &corev1.Secret{}))
	var want []string
	for i := range 10 {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("o", i)}
		testkit.Create(t, server, &corev1.ConfigMap{ObjectMeta: meta}, &corev1.Secret{ObjectMeta: meta})
		want = append(want, "ConfigMap "+namespace+"/"+meta.Name, "Secret "+namespace+"/"+meta.Name)
	}
	var got []string
	for _, revision := range recorder.History() {
		got = append(got, revision.ID().String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
	if objects := recorder.History().Objects(); len(objects) != 20 {
		t.Errorf("%d objects", len(objects))
	}
}

func TestRecorderTellsASuccessorFromItsPredecessor(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", nil)
	recorder := testkit.Record(t, server, object.Namespace, configMaps)
	for range 2 {
		successor := object.DeepCopy()
		testkit.Create(t, server, successor)
		mustDelete(t, server, successor)
	}
	history := recorder.Of(object)
	var changes []testkit.Change
	for _, revision := range history {
		changes = append(changes, revision.Change)
	}
	if want := []testkit.Change{testkit.Added, testkit.Deleted, testkit.Added, testkit.Deleted}; !slices.Equal(changes, want) {
		t.Errorf("changes %v, want %v", changes, want)
	}
	if len(history.Transitions("metadata.uid")) != 2 {
		t.Errorf("UIDs %v, want two", history.Transitions("metadata.uid"))
	}
}

func TestRecorderKeepsToItsNamespace(t *testing.T) {
	server := testkit.Server(t)
	here, elsewhere := server.Namespace(t), server.Namespace(t)
	recorder := testkit.Record(t, server, here, testkit.Groups("landscaper.gardener.cloud"), configMaps)
	testkit.Create(t, server, configMap(elsewhere, "a", nil), configMap(here, "b", nil))
	if history := recorder.History(); len(history) != 1 || history[0].ID().Name != "b" {
		t.Errorf("recorded %v", history)
	}
}

func TestRecorderKeepsToWhatIsChosen(t *testing.T) {
	server := testkit.Server(t)
	here, elsewhere := server.Namespace(t), server.Namespace(t)
	recorder := testkit.Record(t, server, here,
		configMaps, testkit.Kinds(&corev1.Secret{}).In(elsewhere), testkit.Kinds(&corev1.Namespace{}).Named(here))
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	server.Namespace(t)
	testkit.Create(t, server,
		configMap(here, "a", nil), configMap(elsewhere, "b", nil),
		&corev1.Secret{ObjectMeta: meta(here, "c")}, &corev1.Secret{ObjectMeta: meta(elsewhere, "d")})
	mustDelete(t, server, &corev1.Namespace{ObjectMeta: meta("", here)})
	var got []string
	for id := range recorder.History().Objects() {
		got = append(got, id.String())
	}
	slices.Sort(got)
	if want := []string{"ConfigMap " + here + "/a", "Namespace " + here, "Secret " + elsewhere + "/d"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	deleted := recorder.Of(&corev1.Namespace{ObjectMeta: meta("", here)}).Last()
	if deleted.Object.GetDeletionTimestamp() == nil {
		t.Errorf("the deletion of the namespace was not recorded:\n%v", deleted)
	}
}

func TestRecorderRefusesWhatItCannotRecord(t *testing.T) {
	server := testkit.Server(t)
	cases := map[string]struct {
		selections []testkit.Selection
		want       string
	}{
		"nothing":          {want: "nothing was chosen"},
		"an unknown group": {selections: []testkit.Selection{testkit.Groups("example.org")}, want: `no group "example.org"`},
		"an unknown kind":  {selections: []testkit.Selection{testkit.Kinds(&unknownKind{})}, want: "unknownKind"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			failed, text := outcome(t, func(s *spy) { testkit.Record(s, server, "default", c.selections...) })
			if !failed || !strings.Contains(text, c.want) {
				t.Errorf("failed %v: %s", failed, text)
			}
		})
	}
}

type unknownKind struct{ corev1.ConfigMap }

func TestFailingTestsTellTheHistory(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	piece := func(fail bool) func(*spy) {
		return func(s *spy) {
			recorder := testkit.Record(s, server, namespace, testkit.Kinds(&corev1.ConfigMap{}, &corev1.Secret{}))
			object := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "a-"},
				Data:       map[string]string{"phase": "Init"},
			}
			testkit.Create(s, server, object)
			object.Data["phase"] = "Done"
			mustUpdate(s, server, object)
			testkit.Create(s, server, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "s-"}, StringData: map[string]string{"key": "CANARY"},
			})
			recorder.History()
			if fail {
				s.Error("something is wrong")
			}
		}
	}
	if failed, text := outcome(t, piece(false)); failed || text != "" {
		t.Errorf("a passing test says: %s", text)
	}
	failed, text := outcome(t, piece(true))
	if !failed {
		t.Fatal("it did not fail")
	}
	for _, want := range []string{"something is wrong", "added", "data.phase: Init -> Done", "Secret " + namespace + "/s-"} {
		if !strings.Contains(text, want) {
			t.Errorf("the history does not tell %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "CANARY") || strings.Contains(text, "Q0FOQVJZ") {
		t.Errorf("the history tells a secret:\n%s", text)
	}
}

func TestQuietWaitsForTheLastWrite(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", map[string]string{"round": "0"})
	recorder := testkit.Record(t, server, object.Namespace, configMaps)
	testkit.Create(t, server, object.DeepCopy())
	const rounds = 20
	go func() {
		busy := configMap(object.Namespace, "b", nil)
		for round := range rounds {
			busy.Name, busy.ResourceVersion = fmt.Sprint("b", round), ""
			_ = server.Client().Create(t.Context(), busy)
		}
	}()
	testkit.Eventually(t, server, configMap(object.Namespace, "b0", nil), testkit.Is("there", func(*corev1.ConfigMap) bool { return true }))
	recorder.Quiet(t, 2*time.Second)
	if writes := recorder.History().Writes(); writes != rounds+1 {
		t.Errorf("quiet after %d of %d writes", writes, rounds+1)
	}
}

// Parts of a period do not add up to a whole one if there are writes between them.
func TestQuietBeginsAnewAfterAWrite(t *testing.T) {
	server := testkit.Server(t)
	object := configMap(server.Namespace(t), "a", nil)
	recorder := testkit.Record(t, server, object.Namespace, configMaps)
	testkit.Create(t, server, object)
	const period = 3 * time.Second
	go func() {
		tick := time.NewTicker(period / 2)
		defer tick.Stop()
		for _, round := range []string{"1", "2"} {
			select {
			case <-tick.C:
				object.Data = map[string]string{"round": round}
				_ = server.Client().Update(t.Context(), object)
			case <-t.Context().Done():
				return
			}
		}
	}()
	recorder.Quiet(t, period)
	returned := time.Now()
	for _, revision := range recorder.History() {
		if rest := returned.Sub(revision.Seen); rest > 0 && rest < period {
			t.Errorf("quiet %s after revision %d, want at least %s", rest, revision.Version(), period)
		}
	}
}

func TestQuietFailsInARestlessWorld(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	object := configMap(namespace, "restless", nil)
	testkit.Create(t, server, object)
	recorder := testkit.Record(t, server, namespace, configMaps)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	failed, text := outcome(t, func(s *spy) {
		writing.Go(func() {
			for round := 0; ; round++ {
				select {
				case <-stop:
					return
				default:
					object.Data = map[string]string{"round": strconv.Itoa(round)}
					_ = server.Client().Update(t.Context(), object)
				}
				if round == 20 {
					s.giveUp()
				}
			}
		})
		recorder.Quiet(s, time.Hour)
	})
	close(stop)
	writing.Wait()
	if !failed || !strings.Contains(text, "did not come to rest") || !strings.Contains(text, "data.round") {
		t.Errorf("failed %v: %s", failed, text)
	}
}
