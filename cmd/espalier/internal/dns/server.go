// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package dns is the name server of a node: it only resolves the services of the cluster, according to the specification of names in
// Kubernetes.
package dns

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	smallestPacket = 512
	// largestPacket passes through every network in one piece.
	largestPacket = 1232
	idleTime      = 10 * time.Second
)

// Command serves until it receives a signal to end.
func Command() *cobra.Command {
	var kubeconfig, address, domain string
	cmd := &cobra.Command{
		Use:   "dns",
		Short: "Resolve the names of services",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer cancel()
			return run(ctx, kubeconfig, address, domain)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	cmd.Flags().StringVar(&address, "listen", "", "address and port")
	cmd.Flags().StringVar(&domain, "domain", "cluster.local", "the domain of the cluster")
	return cmd
}

func run(ctx context.Context, kubeconfig, address, domain string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return fmt.Errorf("listen for questions: %w", err)
	}
	connections, err := net.Listen("tcp", packets.LocalAddr().String())
	if err != nil {
		return errors.Join(fmt.Errorf("listen for questions: %w", err), packets.Close())
	}
	return Serve(ctx, client, Listeners{Packets: packets, Connections: connections}, domain)
}

// Listeners are the sockets for questions.
type Listeners struct {
	Packets     net.PacketConn
	Connections net.Listener
}

// Serve answers questions from when it has listed the services of the cluster until the context ends, then closes the listeners.
func Serve(ctx context.Context, client kubernetes.Interface, listeners Listeners, domain string) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	z := zone{
		domain:    strings.ToLower(strings.Trim(domain, ".")) + ".",
		services:  factory.Core().V1().Services().Lister(),
		endpoints: factory.Discovery().V1().EndpointSlices().Lister(),
	}
	group, life := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-life.Done()
		return errors.Join(listeners.Packets.Close(), listeners.Connections.Close())
	})
	factory.Start(life.Done())
	factory.WaitForCacheSync(life.Done())
	group.Go(func() error { return unlessClosed(servePackets(listeners.Packets, z)) })
	group.Go(func() error { return unlessClosed(serveConnections(listeners.Connections, z)) })
	err := group.Wait()
	factory.Shutdown()
	return err
}

func unlessClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func servePackets(packets net.PacketConn, z zone) error {
	buffer := make([]byte, 1<<16)
	for {
		size, sender, err := packets.ReadFrom(buffer)
		if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if reply := z.reply(buffer[:size], smallestPacket); reply != nil {
			_, _ = packets.WriteTo(reply, sender) // A client that gets no answer asks again.
		}
	}
}

func serveConnections(connections net.Listener, z zone) error {
	for {
		connection, err := connections.Accept()
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		go func() {
			defer connection.Close()
			for serveOne(connection, z) == nil {
				continue
			}
		}()
	}
}

func serveOne(connection net.Conn, z zone) error {
	if err := connection.SetDeadline(time.Now().Add(idleTime)); err != nil {
		return err
	}
	var size uint16
	if err := binary.Read(connection, binary.BigEndian, &size); err != nil {
		return err
	}
	question := make([]byte, size)
	if _, err := io.ReadFull(connection, question); err != nil {
		return err
	}
	reply := z.reply(question, 1<<16-1)
	if reply == nil {
		return io.ErrUnexpectedEOF
	}
	_, err := connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}

// reply returns nothing for a packet that is not a question. A reply that is too long reports that instead, and the client repeats the
// question over TCP.
func (z zone) reply(packet []byte, limit int) []byte {
	var parser dnsmessage.Parser
	header, err := parser.Start(packet)
	if err != nil || header.Response {
		return nil
	}
	message := dnsmessage.Message{Header: dnsmessage.Header{
		ID: header.ID, Response: true, OpCode: header.OpCode, Authoritative: true, RecursionDesired: header.RecursionDesired,
	}}
	questions, err := parser.AllQuestions()
	switch {
	case err != nil || len(questions) != 1:
		message.RCode = dnsmessage.RCodeFormatError
	case header.OpCode != 0:
		message.RCode = dnsmessage.RCodeNotImplemented
	default:
		message.Questions = questions
		found := z.ask(questions[0])
		message.RCode, message.Answers = found.code, found.records
	}
	if extension := extensionOf(&parser); extension != nil {
		limit = max(limit, min(int(extension.Header.Class), largestPacket))
		message.Additionals = []dnsmessage.Resource{*extension}
	}
	packed, err := message.Pack()
	if err != nil {
		return nil
	}
	if len(packed) <= limit {
		return packed
	}
	message.Truncated, message.Answers = true, nil
	packed, err = message.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// extensionOf finds the client's extension of the protocol (EDNS), and answers it.
func extensionOf(parser *dnsmessage.Parser) *dnsmessage.Resource {
	if parser.SkipAllAnswers() != nil || parser.SkipAllAuthorities() != nil {
		return nil
	}
	for {
		header, err := parser.AdditionalHeader()
		if err != nil {
			return nil
		}
		if header.Type != dnsmessage.TypeOPT {
			if parser.SkipAdditional() != nil {
				return nil
			}
			continue
		}
		header.Class, header.TTL = max(header.Class, smallestPacket), 0
		return &dnsmessage.Resource{Header: header, Body: &dnsmessage.OPTResource{}}
	}
}
