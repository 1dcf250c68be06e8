package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.RssFlowOwner;
import io.rdmaraw.host.FlowMatches;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A port that a server channel listens on, on all loops that serve it: each rule leads to an RSS queue pair over their
 * queues, and each loop has a listener and the connections that the hash brought it. A rule is in force for all loops
 * from the beginning, as connections would be lost to each that joined later.
 *
 * <p>A server on the wildcard address has a rule for each address of the link, and they follow the addresses. What the
 * device has no room for goes by the kernel's socket of the same port, or by the rule of a host of our own.
 */
public final class ListeningPort extends TcpPort implements RssFlowOwner {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(ListeningPort.class);

    /** Replaced as a whole, so that any thread may read it. */
    private volatile List<ListeningLoop> loops;
    /** The stacks of the server channel's own loops, which may have left the port to others since. Guarded by this. */
    private Set<TcpStack> own;
    /** How often the port was left to others. Guarded by this. */
    private int moves;
    /** Where refused rules are counted. */
    private final TcpStackStatistics counters;
    private final RssFlows flows;
    /** A port that other servers may share: each of them joins its rules for itself. */
    private final boolean reusePort;
    /** Rules that are in force, and those that the device had no room for. Guarded by this. */
    private List<FlowSpec> rules = List.of();
    private List<FlowSpec> refused = List.of();
    private boolean withdrawn;
    /** The rules leave the segments to others too. Guarded by this. */
    private boolean copies;
    /** Who listens; null when the port is kept for its connections alone. */
    private volatile ConnectionAcceptor server;

    private ListeningPort(TcpNetwork.Binding binding, List<TcpStack> stacks, ConnectionAcceptor server) {
        super(binding);
        this.server = server;
        reusePort = server.isReusePort();
        flows = stacks.getFirst().port().device().rssFlows();
        own = Set.copyOf(stacks);
        counters = stacks.getFirst().counters();
        loops = stacks.stream().map(stack -> new ListeningLoop(this, stack)).toList();
    }

    /**
     * Listens on a port that was taken.
     *
     * @param stacks of the loops that are to serve it
     */
    public static ListeningPort open(TcpNetwork.Binding binding, List<TcpStack> stacks, ConnectionAcceptor server) {
        ListeningPort port = new ListeningPort(binding, stacks, server);
        try {
            port.update(true);
            port.tellLoops();
        } catch (RuntimeException e) {
            port.server = null;
            port.withdraw();
            binding.close();
            throw e;
        }
        return port;
    }

    /**
     * Brings the rules in force that the host's addresses want now, and takes the others away; returns whether there
     * was anything to do.
     *
     * @param opening whether it is an error when the device takes none of the rules
     */
    private synchronized boolean update(boolean opening) {
        List<FlowSpec> wanted = withdrawn ? List.of() : binding().flows();
        if (wanted.size() == rules.size() + refused.size() && wanted.containsAll(rules)
                && wanted.containsAll(refused)) {
            return false;
        }
        List<FlowSpec> gone = new ArrayList<>(rules);
        gone.removeAll(wanted);
        List<FlowSpec> kept = new ArrayList<>(rules);
        kept.removeAll(gone);
        List<FlowSpec> withoutRoom = new ArrayList<>();
        VerbsException cause = null;
        // Before the device brings anything the kernel must not answer it too.
        keepFromKernel(wanted);
        // On a device that is full what goes makes room for what comes.
        gone.forEach(rule -> flows.withdraw(onDevice(rule), this));
        try {
            for (FlowSpec rule : wanted) {
                VerbsException failure = kept.contains(rule) ? null : cause != null ? cause : tryOpen(rule);
                if (failure != null) {
                    cause = failure;
                    withoutRoom.add(rule);
                } else if (!kept.contains(rule)) {
                    kept.add(rule);
                }
            }
        } finally {
            rules = List.copyOf(kept);
            if (!withoutRoom.isEmpty()) {
                keepFromKernel(rules);
            }
        }
        if (opening && cause != null && rules.isEmpty()) {
            throw cause;
        }
        noteRefused(withoutRoom, cause);
        return true;
    }

    private void keepFromKernel(List<FlowSpec> taken) {
        ConnectionAcceptor listening = server;
        TcpNetwork.Steered steered = binding().steered(taken);
        if (listening != null && steered != null) {
            listening.keepFromKernel(steered);
        }
    }

    /**
     * Returns the stack that the device would bring a segment to by the port's rules; null when none of them is for it.
     *
     * @param hash the hash of the segment's flow, see {@link RssFlows#chosen}
     */
    synchronized TcpStack chosen(IpAddress destination, int destinationPort, int hash) {
        if (destinationPort == binding().port()) {
            for (FlowSpec rule : rules) {
                TcpNetwork.Steered steered = binding().steered(List.of(rule));
                if (steered != null && steered.addresses().contains(destination)) {
                    FrameQueue queue = flows.chosen(onDevice(rule), hash);
                    return loops.stream().map(ListeningLoop::stack)
                            .filter(stack -> stack.port().queue() == queue).findFirst().orElse(null);
                }
            }
        }
        return null;
    }

    /** Returns why the device has no room for a rule, or null: it is in force. */
    private VerbsException tryOpen(FlowSpec rule) {
        if (reusePort) {
            return null;
        }
        try {
            open(onDevice(rule));
            return null;
        } catch (VerbsException e) {
            if (!ListeningLoop.isFull(e)) {
                throw e;
            }
            return e;
        }
    }

    private void open(FlowSpec rule) {
        flows.open(rule, serving().map(loop -> loop.stack().port().queue()).toList(), this);
    }

    /** Returns the loops that the port's frames come to. */
    private Stream<ListeningLoop> serving() {
        return loops.stream().filter(ListeningLoop::isServing);
    }

    /** Returns the rule by which the device brings what one of {@link #rules} is for. */
    private FlowSpec onDevice(FlowSpec rule) {
        // Behind the other one, so that a frame comes once while both are in force.
        return copies ? rule.toBuilder().dontTrap().priority(FlowMatches.REST_PRIORITY).build() : rule;
    }

    synchronized List<FlowSpec> inForce() {
        return rules.stream().map(this::onDevice).toList();
    }

    /**
     * Leaves the port's segments to another process too, of which each gets a copy then; or has them alone again. There
     * is no moment at which no rule is in force.
     *
     * @throws VerbsException when the device does not take the rules; those of before are in force then
     */
    public synchronized void share(boolean shared) {
        if (copies == shared || withdrawn) {
            return;
        }
        List<FlowSpec> before = inForce();
        copies = shared;
        List<FlowSpec> opened = new ArrayList<>();
        try {
            for (FlowSpec rule : inForce()) {
                open(rule);
                opened.add(rule);
            }
        } catch (VerbsException e) {
            opened.forEach(rule -> flows.withdraw(rule, this));
            copies = !shared;
            throw e;
        }
        before.forEach(rule -> flows.withdraw(rule, this));
        loops.forEach(loop -> loop.stack().onLoop(() -> {
            // What the rules of before have brought is still under their tags.
            loop.stack().pollAll();
            loop.steer();
        }));
    }

    private void noteRefused(List<FlowSpec> withoutRoom, VerbsException cause) {
        counters.unsteeredAddresses.add(withoutRoom.size() - refused.size());
        refused = List.copyOf(withoutRoom);
        if (cause != null) {
            LOGGER.warn("port {}: the device has no room for the rules of {} addresses, which are served by the kernel"
                    + " or by another loop: {}", binding().port(), refused.size(), cause.getMessage());
        }
    }

    /** Rules follow the host's addresses. On the loop that was told first. */
    void followHost() {
        try {
            if (update(false)) {
                loops.forEach(loop -> loop.stack().onLoop(loop::steer));
            }
        } catch (RuntimeException e) {
            LOGGER.warn("port {} is still steered by addresses that the host no longer has", binding().port(), e);
        }
    }

    /** Of a port that others share a loop's rules are all there are. */
    synchronized void keepRules(Set<FlowSpec> steered, VerbsException cause) {
        List<FlowSpec> withoutRoom = new ArrayList<>(rules);
        withoutRoom.removeAll(steered);
        rules = List.copyOf(steered);
        keepFromKernel(rules);
        noteRefused(withoutRoom, cause);
    }

    boolean isReusePort() {
        return reusePort;
    }

    /** Returns who listens; null when the port is kept for its connections alone. Any thread. */
    ConnectionAcceptor server() {
        return server;
    }

    /** Tells whether a loop is the one that speaks for all of them. */
    boolean isFirst(TcpStack stack) {
        return first() == stack;
    }

    private TcpStack first() {
        List<ListeningLoop> all = loops;
        return all.stream().filter(ListeningLoop::isServing).findFirst().orElse(all.getFirst()).stack();
    }

    /**
     * Leaves the port to other loops: theirs join its rules, then those of before leave them, without a moment at which
     * no rule is in force. Connections that were opened meanwhile stay where they are, and are found there by {@link
     * CrossLoopLookup}. Where a loop cannot join, for want of room on the device, those of before go on beside the
     * others.
     *
     * @param stacks of the loops, on the same device
     */
    public void moveTo(List<TcpStack> stacks) {
        List<ListeningLoop> before;
        List<ListeningLoop> next = new ArrayList<>();
        Map<ListeningLoop, CompletableFuture<Void>> coming = new LinkedHashMap<>();
        int move;
        synchronized (this) {
            if (withdrawn) {
                return;
            }
            move = ++moves;
            before = serving().toList();
            List<ListeningLoop> all = new ArrayList<>(loops);
            for (TcpStack stack : stacks) {
                ListeningLoop loop = all.stream().filter(each -> each.stack() == stack).findFirst().orElse(null);
                if (loop == null) {
                    loop = new ListeningLoop(this, stack);
                    all.add(loop);
                }
                next.add(loop);
                if (!before.contains(loop)) {
                    coming.put(loop, loop.willJoin());
                }
            }
            loops = List.copyOf(all);
        }
        coming.forEach(ListeningLoop::beginJoining);
        // Those too that another call has begun with: the last loop of before must not leave sooner.
        CompletableFuture.allOf(next.stream().map(ListeningLoop::joining).toArray(CompletableFuture[]::new))
                .whenComplete((done, failure) -> {
                    if (failure != null) {
                        LOGGER.warn("port {}: not all loops of the group of the connections can receive what comes to"
                                + " it, so other loops go on and pass it on to them", binding().port(), failure);
                    } else if (isLatest(move)) {
                        before.stream().filter(loop -> !next.contains(loop))
                                .forEach(loop -> loop.stack().onLoop(loop::leave));
                    }
                });
    }

    private synchronized boolean isLatest(int move) {
        return move == moves && !withdrawn;
    }

    /** Tells whether another loop serves the port too. */
    synchronized boolean isServedWithout(ListeningLoop loop) {
        return serving().anyMatch(other -> other != loop);
    }

    /** A loop that the port was left to has ended. When none is there any more, the server channel's own serve it. */
    void takeBack() {
        List<TcpStack> back;
        synchronized (this) {
            if (serving().findAny().isPresent()) {
                return;
            }
            back = List.copyOf(own);
        }
        moveTo(back);
    }

    private synchronized void closeRules() {
        withdrawn = true;
        inForce().forEach(rule -> flows.withdraw(rule, this));
        rules = List.of();
        noteRefused(List.of(), null);
    }

    /** Tells whether what the device brings by its rules reaches the kernel too. */
    public boolean isSeenByKernel() {
        return first().port().device().counters().kernelVisibleRules() > 0;
    }

    /** Returns the port that a rule of it belongs to, if it is still taken for connections of a server before. */
    public static ListeningPort find(TcpStack stack, List<FlowSpec> rules) {
        for (FlowSpec rule : rules) {
            if (stack.port().device().rssFlows().ownerOf(rule) instanceof ListeningPort port) {
                return port;
            }
        }
        return null;
    }

    /** Another server listens on the port; false when it has one, or is on other loops. */
    public boolean reopen(List<TcpStack> stacks, ConnectionAcceptor next) {
        Set<TcpStack> wanted = Set.copyOf(stacks);
        synchronized (this) {
            Set<TcpStack> serving = serving().map(ListeningLoop::stack).collect(Collectors.toSet());
            // Where the port was left to others, the server channel's own loop has no part in it.
            boolean same = wanted.equals(own) || wanted.equals(serving)
                    || !next.isReusePort() && !serving.isEmpty() && serving.stream().noneMatch(own::contains);
            if (server != null || !same || !retain()) {
                return false;
            }
            own = wanted;
            server = next;
        }
        try {
            binding().setListening(true);
            synchronized (this) {
                keepFromKernel(rules);
            }
            tellLoops();
        } catch (RuntimeException e) {
            stopListening();
            throw e;
        }
        return true;
    }

    /** Returns the stacks of the loops that serve the port, and of those that have until they left it to others. */
    public List<TcpStack> stacks() {
        return loops.stream().map(ListeningLoop::stack).toList();
    }

    /** Counts the connections that live by the port: with half-open ones, without those in TIME-WAIT. Any thread. */
    public CompletableFuture<Integer> connectionCount() {
        AtomicInteger halfOpen = new AtomicInteger();
        List<CompletableFuture<Void>> counted = new ArrayList<>();
        for (ListeningLoop loop : loops) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            counted.add(done);
            loop.stack().executeOrElse(() -> {
                halfOpen.addAndGet(loop.halfOpen());
                done.complete(null);
            }, () -> done.complete(null));
        }
        // Those that open meanwhile are counted twice, and none is missed.
        return CompletableFuture.allOf(counted.toArray(CompletableFuture[]::new))
                .thenApply(done -> halfOpen.get() + users() - (server != null ? 1 : 0));
    }

    /** @throws VerbsException when the caller's loop, if it is one of them, cannot join any of the rules */
    private void tellLoops() {
        ConnectionAcceptor listening = server;
        for (ListeningLoop loop : loops) {
            if (loop.stack().isOnLoop()) {
                // A server before may have been stopped by another thread just now.
                loop.stack().catchUp();
                loop.serve(listening);
            } else {
                loop.stack().beforeFrames(() -> loop.serve(listening));
            }
        }
    }

    @Override
    public void joinBy(DeviceQueue port) {
        for (ListeningLoop loop : loops) {
            if (loop.stack().port() == port && !loop.hasLeft()) {
                // What listened before on a port that is new again.
                loop.stack().catchUp();
                loop.join();
                loop.listen(server);
            }
        }
    }

    /** The server listens no more; its connections live on. Any thread. */
    public void stopListening() {
        synchronized (this) {
            // Who listens next tells the loops after this.
            server = null;
            loops.forEach(loop -> loop.stack().beforeFrames(loop::stopListening));
        }
        binding().setListening(false);
        loops.forEach(loop -> loop.stack().catchUp());
        TcpStack first = loops.stream().map(ListeningLoop::stack).filter(TcpStack::isOnLoop).findFirst()
                .orElse(first());
        first.executeOrElse(() -> release(first), () -> release(null));
    }

    @Override
    void withdraw() {
        closeRules();
        for (ListeningLoop loop : loops) {
            loop.stack().onLoop(loop::end);
        }
    }
}
