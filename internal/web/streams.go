// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/web/hub"
	"espalier.dev/internal/web/mirror"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/session"
	"espalier.dev/internal/web/view"
)

// The views that can be streamed.
const (
	viewOverview     = "overview"
	viewInstallation = "installations"
	viewPipeline     = "pipelines"
	viewTargets      = "targets"
)

// Ready reports whether the mirror is filled.
func (s *Server) Ready() bool { return s.mirror.Ready() }

// Problem returns why documents may be outdated.
func (s *Server) Problem() (key string, data []byte) {
	p := s.mirror.Problem()
	if p == nil {
		return "", nil
	}
	return p.Since.String(), hub.Encode(p)
}

// scene returns what readers of a class may see, in one namespace or in all.
func (s *Server) scene(class *rights.Class, namespace string) view.Scene {
	scene := view.Scene{Objects: &objecttree.Objects{}, Now: s.options.Now().UTC(), Rights: s.rightsOf(class, "")}
	see := func(r mirror.Resource, namespace string) bool {
		allowed, _ := class.May(toList(r), namespace)
		return allowed
	}
	targets := s.targetNames(namespace)
	s.mirror.Each(namespace, see, func(object client.Object) {
		switch o := object.(type) {
		case *lsv1alpha1.Installation, *lsv1alpha1.Execution:
			scene.Objects.Put(object)
		case *lsv1alpha1.DeployItem:
			scene.Objects.Put(withKnownTarget(o, targets))
		case *lsv1alpha1.DataObject:
			scene.DataObjects = append(scene.DataObjects, o)
		case *lsv1alpha1.Target:
			scene.Targets = append(scene.Targets, o)
		case *pipelines.Pipeline:
			scene.Pipelines = append(scene.Pipelines, o)
		case *eventsv1.Event:
			scene.Events = append(scene.Events, o)
		}
	})
	return scene
}

// sharedScene returns a scene that all documents between two changes share, if it covers all namespaces.
func (s *Server) sharedScene(class *heldClass, namespace string) view.Scene {
	if namespace != "" {
		return s.scene(class.Class, namespace)
	}
	class.mutex.Lock()
	defer class.mutex.Unlock()
	// Read the number first: a concurrent change then makes the scene outdated.
	if changes := s.changes.Load(); class.all == nil || class.changes != changes {
		scene := s.scene(class.Class, "").Shared()
		class.all, class.changes = &scene, changes
	}
	scene := *class.all
	scene.Now = s.options.Now().UTC()
	return scene
}

// changed is called after each change in the mirror.
func (s *Server) changed(namespace string) {
	s.changes.Add(1)
	s.hub.Changed(namespace)
}

// targetNames returns the existing Targets, whatever the reader's rights.
func (s *Server) targetNames(namespace string) map[client.ObjectKey]bool {
	names := map[client.ObjectKey]bool{}
	onlyTargets := func(r mirror.Resource, _ string) bool { return r.Resource == "targets" }
	s.mirror.Each(namespace, onlyTargets, func(object client.Object) { names[client.ObjectKeyFromObject(object)] = true })
	return names
}

// withKnownTarget removes the name of a Target that does not exist. Templates create such names, so it may be the value of a Secret; the
// status of the deploy item reports it, with secrets masked.
func withKnownTarget(item *lsv1alpha1.DeployItem, targets map[client.ObjectKey]bool) *lsv1alpha1.DeployItem {
	if item.Spec.Target == nil || targets[client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}] {
		return item
	}
	bare := *item // Objects of the mirror are shared.
	bare.Spec.Target = nil
	return &bare
}

// rightsOf answers views. No reader sees what the mirror itself may not list. Views of a single object query changes of this object only,
// so that a right restricted to it is enough.
func (s *Server) rightsOf(class *rights.Class, name string) view.Rights {
	return func(verb, group, resource, namespace string) bool {
		if verb == "list" && !s.mirror.Lists(group, resource) {
			return false
		}
		right := rights.Right{Verb: verb, Group: group, Resource: resource}
		allowed, known := class.MayOne(right, rights.Place{Namespace: namespace, Name: name})
		if !known {
			s.learn(right)
		}
		return allowed
	}
}

// Make returns the document of a topic; false if it differs from the previous one only in its time.
func (s *Server) Make(topic hub.Topic, before any) (hub.Document, bool) {
	class := s.heldClass(topic.Class)
	if class == nil {
		return hub.Document{Whole: func() []byte { return nil }}, false // Its last reader has just left.
	}
	scene := s.sharedScene(class, topic.Namespace)
	scene.Rights = s.rightsOf(class.Class, topic.Name)
	scene.Checks = s.checksFor(topic.Reader, view.Lookable(scene.Targets, scene.Pipelines))
	switch topic.View {
	case viewOverview:
		return overview(scene, before)
	case viewInstallation:
		d := view.NewInstallation(scene, topic.Namespace, topic.Name)
		return page(&d, &d.Now, before)
	case viewPipeline:
		s.addApplications(scene, class.Class, topic)
		d := view.NewPipeline(scene, topic.Namespace, topic.Name)
		return page(&d, &d.Now, before)
	}
	d := view.NewTargets(scene)
	return page(&d, &d.Now, before)
}

func overview(scene view.Scene, before any) (hub.Document, bool) {
	after := view.NewOverview(scene)
	document := hub.Document{State: after, Whole: func() []byte { return hub.Encode(after) }}
	previous, known := before.(view.Overview)
	if !known {
		return document, true
	}
	change, changed := view.ChangeSince(previous, after)
	if changed {
		document.Change = hub.Encode(change)
	}
	return document, changed
}

// page compares documents without their time, whose location the caller passes.
func page(document any, now *time.Time, before any) (hub.Document, bool) {
	made := *now
	*now = time.Time{}
	bare := hub.Encode(document)
	*now = made
	if previous, known := before.([]byte); known && bytes.Equal(previous, bare) {
		return hub.Document{}, false
	}
	return hub.Document{State: bare, Whole: func() []byte { return hub.Encode(document) }}, true
}

const (
	// beat shows proxies and pages that a stream is alive.
	beat = 15 * time.Second
	// streamLimit is the maximum number of streams per session, which is more than browsers open.
	streamLimit = 16
	// streamsLimit is the maximum number in total.
	streamsLimit = 4096
	// writeTimeout ends streams whose reader does not read.
	writeTimeout = 30 * time.Second
)

// stream sends a view as server-sent events until the reader disconnects, their session ends or the server stops.
func (s *Server) stream(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by, err := s.callerOf(r)
		if err == nil {
			err = s.takePlace(by.session.ID)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		defer s.leavePlace(by.session.ID)
		topic := hub.Topic{View: name, Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
		p := &pipe{
			server: s, by: by, topic: topic, seen: cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")), out: w, control: http.NewResponseController(w),
		}
		defer p.close()
		p.run(r.Context())
	}
}

func (s *Server) takePlace(id string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := 0
	for _, n := range s.streams {
		all += n
	}
	if s.streams[id] >= streamLimit || all >= streamsLimit {
		return &problem{Status: http.StatusTooManyRequests, Message: "Too many pages are open. Close some, and reload this one."}
	}
	s.streams[id]++
	return nil
}

func (s *Server) leavePlace(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.streams[id]--; s.streams[id] == 0 {
		delete(s.streams, id)
	}
}

// pipe is one stream to a browser.
type pipe struct {
	server *Server
	by     caller
	topic  hub.Topic
	class  *rights.Class
	stream *hub.Stream
	// seen is the last event that the reader received from an earlier stream.
	seen string
	// stale reports that the reader's rights could not be determined lately. They get no documents meanwhile.
	stale   bool
	out     http.ResponseWriter
	control *http.ResponseController
}

func (p *pipe) close() {
	if p.stream != nil {
		p.stream.Close()
		p.server.letGo(p.class)
	}
}

// retry is the interval at which rights are queried that could not be determined.
const retry = 2 * time.Second

func (p *pipe) run(ctx context.Context) {
	pulse, renew, again := time.NewTicker(beat), time.NewTicker(rights.Lifetime), time.NewTicker(retry)
	defer pulse.Stop()
	defer renew.Stop()
	defer again.Stop()
	learnt, grown := p.server.moreToAsk()
	looked := p.by.reader.checks.matter(p.topic.View)
	err := p.begin(ctx)
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-p.server.closing:
			return
		case <-p.woken():
			err = p.forward()
		case <-pulse.C:
			err = p.pulse()
		case <-p.ifStale(again.C):
			err = p.join(ctx)
		case <-renew.C:
			err = p.join(ctx)
		case <-looked:
			looked = p.by.reader.checks.matter(p.topic.View)
			err = p.join(ctx)
		case <-learnt:
			learnt, grown = p.server.moreToAsk()
			err = p.join(ctx)
		case <-grown:
			learnt, grown = p.server.moreToAsk()
			err = p.join(ctx)
		}
	}
}

// begin joins for the first time. A returning reader may have missed nothing, and still needs a sign that the stream works.
func (p *pipe) begin(ctx context.Context) error {
	if err := p.join(ctx); err != nil || p.seen == "" {
		return err
	}
	return p.pulse()
}

// ifStale returns a channel that receives only while the rights of the reader are unknown.
func (p *pipe) ifStale(channel <-chan time.Time) <-chan time.Time {
	if p.stale {
		return channel
	}
	return nil
}

func (p *pipe) woken() <-chan struct{} {
	if p.stream == nil {
		return nil
	}
	return p.stream.Woken()
}

// forward sends what the stream has, but no documents while the rights of the reader are unknown.
func (p *pipe) forward() error {
	messages := p.stream.Take()
	if p.stale {
		messages = slices.DeleteFunc(messages, func(m hub.Message) bool { return m.Event != "problem" })
	}
	return p.send(messages...)
}

func (p *pipe) pulse() error {
	if !p.server.keeper.Valid(p.by.session) {
		return session.ErrNone
	}
	return p.send(hub.Message{Event: "beat", Data: []byte("{}")})
}

// join opens the topic of the reader's class, which may have changed. If the API server does not report the reader's rights, they see
// nothing new, and a message says so.
func (p *pipe) join(ctx context.Context) error {
	if err := p.server.recheck(ctx, p.by.session, p.by.reader); err != nil {
		return err
	}
	class, err := p.server.classOf(ctx, p.by.reader, pageOf(p.topic))
	if err != nil {
		return p.loseRights(err)
	}
	topic := p.topicFor(class)
	if !p.stale && p.class != nil && p.topic == topic {
		return nil
	}
	p.close()
	p.server.hold(class)
	seen := p.seen
	if p.stream != nil {
		seen = "" // This is a different document.
	}
	p.class, p.topic, p.stale = class, topic, false
	p.stream = p.server.hub.Open(p.topic, seen)
	return nil
}

// pageOf returns the actions on the object of a page, as rights.
func pageOf(topic hub.Topic) rights.Page {
	page := rights.Page{Place: rights.Place{Namespace: topic.Namespace, Name: topic.Name}}
	switch topic.View {
	case viewInstallation:
		page.Rights = []rights.Right{patchInstallations, deleteInstallation}
	case viewPipeline:
		page.Rights = []rights.Right{patchPipelines, approvePipelines}
	}
	return page
}

// topicFor returns the topic of the reader in a class. What they found out about clusters is shown only to readers who found out the same.
func (p *pipe) topicFor(class *rights.Class) hub.Topic {
	topic := p.topic
	topic.Class, topic.Reader = class.Key, p.by.reader.checks.key(topic.View, p.by.reader.key)
	return topic
}

func (p *pipe) loseRights(err error) error {
	if p.stale {
		return nil
	}
	p.stale = true
	if key, _ := p.server.Problem(); key != "" && p.stream != nil {
		return nil // The stream reports it.
	}
	message := fmt.Sprintf("The API server does not answer what you may see: %v. The page shows the last known state.", err)
	return p.send(hub.Message{Event: "problem", Data: hub.Encode(mirror.Problem{Message: message, Since: p.server.options.Now().UTC()})})
}

// send writes events; one without an ID keeps that of the previous one.
func (p *pipe) send(messages ...hub.Message) error {
	var text bytes.Buffer
	for _, m := range messages {
		if m.ID != "" {
			fmt.Fprintf(&text, "id: %s\n", m.ID)
		}
		fmt.Fprintf(&text, "event: %s\ndata: %s\n\n", m.Event, m.Data)
	}
	if text.Len() == 0 {
		return nil
	}
	if err := p.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("bound a write: %w", err)
	}
	if _, err := p.out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write to a stream: %w", err)
	}
	return p.control.Flush()
}
