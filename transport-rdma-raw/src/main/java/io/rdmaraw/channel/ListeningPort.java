package io.rdmaraw.channel;

import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.SpreadFlows;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.verbs.FlowSpec;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A port that a server channel listens on, on all loops that serve it: one rule leads to an RSS queue pair over their
 * queues, and each loop has a listener and the connections that the hash brought it. The rule is in force for all loops
 * from the beginning, as connections would be lost to each that joined later.
 */
final class ListeningPort extends TcpPort implements SpreadOwner {
    private final List<Member> members = new ArrayList<>();
    /** Who listens; null when the port is kept for its connections alone. */
    private volatile RdmaRawServerSocketChannel server;

    /** A loop that serves the port. For its thread. */
    private final class Member {
        private final TcpStack stack;
        private final TcpSteering steering;
        private TcpNetwork.Binding share;
        private TcpListener listener;
        private boolean joined;

        Member(TcpStack stack) {
            this.stack = stack;
            steering = new ListeningSteering(stack);
        }

        private void join() {
            if (joined) {
                return;
            }
            joined = true;
            share = stack.network().join(binding());
            stack.port().attach(steering, List.of(), binding().flows());
        }

        private void listen(RdmaRawServerSocketChannel listening) {
            if (listening != null && listener == null && server == listening) {
                IpAddress local = binding().local();
                boolean any = local.isAny();
                listener = stack.engine().listen(any ? 0 : local.high(), any ? 0 : local.low(), binding().port(),
                        listening.config().getBacklog(), listening);
                listener.fastOpen(listening.config().getTcpFastopen());
            }
        }

        private void stopListening() {
            if (listener != null) {
                listener.close();
                listener = null;
            }
        }

        private void leave() {
            stack.port().detach(steering);
            if (share != null) {
                share.close();
            }
        }
    }

    /** Nobody asks for connections by a device that is gone or has no link, so who listens has to be told. */
    private final class ListeningSteering extends TcpSteering {
        ListeningSteering(TcpStack stack) {
            super(stack);
        }

        @Override
        public void queueEvent(RdmaRawQueueEvent event) {
            RdmaRawServerSocketChannel listening = server;
            // The device's events come to each loop of it; of those before its end one is enough.
            boolean tells = switch (event.kind()) {
                case DEVICE_REMOVED -> true;
                case PORT_DOWN, PORT_UP -> stack() == members.getFirst().stack;
                case RECOVERED, QUEUE_FAILED -> false;
            };
            if (tells && listening != null) {
                listening.queueEvent(event);
            }
        }
    }

    private ListeningPort(TcpNetwork.Binding binding, List<TcpStack> stacks, RdmaRawServerSocketChannel server) {
        super(binding);
        this.server = server;
        stacks.forEach(stack -> members.add(new Member(stack)));
    }

    /**
     * Listens on a port that was taken.
     *
     * @param stacks of the loops that are to serve it
     */
    static ListeningPort open(TcpNetwork.Binding binding, List<TcpStack> stacks, RdmaRawServerSocketChannel server) {
        ListeningPort port = new ListeningPort(binding, stacks, server);
        SpreadFlows flows = stacks.getFirst().port().device().spreadFlows();
        List<FrameQueue> queues = stacks.stream().map(stack -> stack.port().queue()).toList();
        List<FlowSpec> opened = new ArrayList<>();
        try {
            // A port that other servers may share is joined by each of them for itself.
            for (FlowSpec spec : server.config().isReusePort() ? List.<FlowSpec>of() : binding.flows()) {
                flows.open(spec, queues, port);
                opened.add(spec);
            }
        } catch (RuntimeException e) {
            opened.forEach(spec -> flows.withdraw(spec, port));
            binding.close();
            throw e;
        }
        port.tellMembers();
        return port;
    }

    /** Returns the port that a rule of it belongs to, if it is still taken for connections of a server before. */
    static ListeningPort find(TcpStack stack, List<FlowSpec> rules) {
        for (FlowSpec rule : rules) {
            if (stack.port().device().spreadFlows().ownerOf(rule) instanceof ListeningPort port) {
                return port;
            }
        }
        return null;
    }

    /** Another server listens on the port; false when it has one, or is on other loops. */
    boolean reopen(List<TcpStack> stacks, RdmaRawServerSocketChannel next) {
        Set<TcpStack> same = members.stream().map(member -> member.stack).collect(Collectors.toSet());
        if (server != null || !same.equals(Set.copyOf(stacks)) || !retain()) {
            return false;
        }
        server = next;
        tellMembers();
        return true;
    }

    private void tellMembers() {
        RdmaRawServerSocketChannel listening = server;
        for (Member member : members) {
            member.stack.onLoop(() -> {
                member.join();
                member.listen(listening);
            });
        }
    }

    @Override
    public void joinBy(PortQueue port) {
        for (Member member : members) {
            if (member.stack.port() == port) {
                member.join();
                member.listen(server);
            }
        }
    }

    /** The server listens no more; its connections live on. Any thread. */
    void stopListening() {
        server = null;
        for (Member member : members) {
            member.stack.onLoop(member::stopListening);
        }
        TcpStack first = members.getFirst().stack;
        first.executeOrElse(() -> release(first), () -> release(null));
    }

    @Override
    void withdraw() {
        SpreadFlows flows = members.getFirst().stack.port().device().spreadFlows();
        binding().flows().forEach(rule -> flows.withdraw(rule, this));
        for (Member member : members) {
            member.stack.onLoop(member::leave);
        }
    }
}
