package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.HostView;
import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.NetworkDevices;
import io.rdmaraw.host.OwnHostRules;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.ReassemblyLimits;
import io.rdmaraw.host.SnapshotBudget;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.route.ControlOutput;
import io.rdmaraw.route.IcmpError;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.LoopEndpoint;
import io.rdmaraw.route.LoopHost;
import io.rdmaraw.route.NetworkSnapshot;
import io.rdmaraw.route.OwnHost;
import io.rdmaraw.route.OwnHostConfig;
import io.rdmaraw.route.OwnHostCounters;
import io.rdmaraw.route.PortSharing;
import io.rdmaraw.route.SourceFilter;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.UdpHeader;

import java.net.BindException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * A host of our own as all loops of the process share it. One of the loops that use the device drives it: it receives
 * ARP, neighbour discovery, ICMP, and whatever is for the host's MAC address and was steered to no channel. When that
 * loop leaves, another takes over. Ports and snapshots are for any thread; the rest is guarded by a lock that only the
 * driving loop takes as a rule.
 */
final class OwnNetworkHost implements IpHost {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(OwnNetworkHost.class);
    private static final Map<String, OwnNetworkHost> BY_DEVICE = new HashMap<>();
    private static final long MIN_TIMER_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long MAX_TIMER_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final String deviceName;
    private final OwnHostConfig config;
    private final LoopHost ports = LoopHost.with(this::has);
    /** By the number that tells endpoints apart. */
    private final Map<Long, PortOwner> owners = new ConcurrentHashMap<>();
    private final List<Consumer<NetworkSnapshot>> listeners = new CopyOnWriteArrayList<>();
    private final List<Driver> drivers = new ArrayList<>();
    private final List<PortOwner> stacks = new CopyOnWriteArrayList<>();
    private OwnHost host;
    private volatile NetworkSnapshot snapshot;
    private final SnapshotBudget budget = new SnapshotBudget(System.nanoTime());
    /** There may be something to publish when the budget allows it again. */
    private boolean publishLater;
    private final OwnHostStatistics statistics;
    private final HandOverLimit toSelf = new HandOverLimit();

    private OwnNetworkHost(String deviceName, OwnHostConfig config) {
        this.deviceName = deviceName;
        this.config = config;
        statistics = new OwnHostStatistics(this::counters);
    }

    /**
     * Has a loop take part in a host; the first one brings it to life.
     *
     * @throws IllegalArgumentException when the process has another host with the same MAC address on the device
     */
    static OwnNetworkHost join(String deviceName, OwnHostConfig config, PortQueue port, HostView hostView,
                               EventLoop loop) {
        synchronized (BY_DEVICE) {
            String name = deviceName + ' ' + Long.toHexString(config.mac());
            OwnNetworkHost known = BY_DEVICE.computeIfAbsent(name, key -> new OwnNetworkHost(deviceName, config));
            if (!known.config.equals(config)) {
                throw new IllegalArgumentException("the process has a host with this MAC address on " + deviceName
                        + " already, with other addresses: " + known.config);
            }
            known.add(port, hostView, loop);
            return known;
        }
    }

    private synchronized void add(PortQueue port, HostView hostView, EventLoop loop) {
        for (Driver driver : drivers) {
            if (driver.port == port) {
                return;
            }
        }
        Driver driver = new Driver(port, hostView, loop);
        drivers.add(driver);
        port.onClose(() -> remove(driver));
        if (drivers.size() == 1) {
            host = new OwnHost(config, driver.linkName(deviceName), port.limits().mtuBytes(), driver,
                    new SecureRandom());
            host.start(System.nanoTime());
            publish();
            driver.take();
        }
    }

    /** A loop's queue closes; this comes on its thread. */
    private void remove(Driver driver) {
        // In the order that join() takes them.
        synchronized (BY_DEVICE) {
            synchronized (this) {
                removeNow(driver);
            }
        }
    }

    private void removeNow(Driver driver) {
        boolean drove = !drivers.isEmpty() && drivers.getFirst() == driver;
        drivers.remove(driver);
        driver.leave();
        if (drivers.isEmpty()) {
            BY_DEVICE.values().remove(this);
        } else if (drove) {
            Driver next = drivers.getFirst();
            execute(next.loop, () -> takeOver(next), () -> { });
        }
    }

    private synchronized void takeOver(Driver next) {
        if (!drivers.isEmpty() && drivers.getFirst() == next) {
            host.moveTo(next);
            next.take();
        }
    }

    private boolean has(IpAddress address) {
        for (var own : config.addresses()) {
            if (own.address().equals(address)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public NetworkSnapshot snapshot() {
        return snapshot;
    }

    @Override
    public void addListener(Consumer<NetworkSnapshot> listener) {
        listeners.add(listener);
    }

    @Override
    public void removeListener(Consumer<NetworkSnapshot> listener) {
        listeners.remove(listener);
    }

    @Override
    public void solicit(int linkIndex, IpAddress hop, Runnable refused) {
        onDriver(driver -> driver.solicit(hop));
    }

    /** A stack is to hear of ICMP errors: its connections may be on any loop. */
    void add(PortOwner stack) {
        stacks.add(stack);
    }

    void remove(PortOwner stack) {
        stacks.remove(stack);
    }

    /** Tells all stacks of an ICMP error; any thread. */
    void tellStacks(IcmpError error) {
        stacks.forEach(stack -> stack.icmpError(error));
    }

    OwnHostCounters counters() {
        return host.counters();
    }

    LoopEndpoint bind(int protocol, IpAddress local, boolean dualStack, int port, PortSharing sharing, PortOwner owner)
            throws BindException {
        LoopEndpoint bound = ports.bind(protocol, local, dualStack, port, sharing);
        owners.put(bound.mac(), owner);
        return bound;
    }

    LoopEndpoint connect(LoopEndpoint endpoint, IpAddress local, IpAddress remoteOrNull, int remotePort) {
        return ports.connect(endpoint, local, remoteOrNull, remotePort);
    }

    void unbind(LoopEndpoint endpoint) {
        owners.remove(endpoint.mac());
        ports.close(endpoint);
        onDriver(driver -> driver.changeGroups(now -> host.leaveGroups(endpoint.mac(), now)));
    }

    /** Sets what an endpoint wants of a group from now on. */
    void setGroup(LoopEndpoint endpoint, IpAddress group, SourceFilter filter) {
        onDriver(driver -> driver.changeGroups(now -> host.setGroup(endpoint.mac(), group, filter, now)));
    }

    /**
     * Hands a UDP datagram to whoever has its port on this host; returns false when nobody has. One whose loop is
     * behind does not get it, as when a network is overloaded.
     */
    boolean handOver(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        PortOwner owner = find(IpProtocol.UDP, path.source(), path.sourcePort(), path.target(), path.targetPort());
        if (owner == null) {
            return false;
        }
        if (!toSelf.take(1)) {
            statistics.countOwnerBehind();
            return true;
        }
        ByteBuf datagram = ByteBufAllocator.DEFAULT.directBuffer(UdpHeader.LENGTH_BYTES + lengthBytes)
                .writeShort(path.sourcePort()).writeShort(path.targetPort())
                .writeShort(UdpHeader.LENGTH_BYTES + lengthBytes).writeShort(0)
                .writeBytes(content, index, lengthBytes);
        execute(owner.loop(), () -> {
            toSelf.giveBack(1);
            owner.receiveReassembled(datagram, path.source(), path.target());
        }, () -> {
            toSelf.giveBack(1);
            datagram.release();
        });
        return true;
    }

    /** Has the driving loop do something; one that has no more tasks is about to be followed by another. */
    private synchronized void onDriver(Consumer<Driver> action) {
        if (!drivers.isEmpty()) {
            Driver driver = drivers.getFirst();
            execute(driver.loop, () -> action.accept(driver), () -> { });
        }
    }

    /** Runs a task on a loop, or says that the loop takes none any more. */
    static void execute(Executor loop, Runnable task, Runnable otherwise) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException e) {
            otherwise.run();
        }
    }

    private PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int destinationPort) {
        LoopEndpoint endpoint = ports.find(protocol, source, sourcePort, destination, destinationPort);
        return endpoint == null ? null : owners.get(endpoint.mac());
    }

    private void publish() {
        long beganNanos = System.nanoTime();
        publishLater = !budget.allows(beganNanos);
        NetworkSnapshot changed = publishLater ? null : host.snapshotIfChanged();
        if (changed == null) {
            return;
        }
        tell(changed);
        budget.spent(System.nanoTime() - beganNanos);
    }

    private void tell(NetworkSnapshot changed) {
        snapshot = changed;
        for (Consumer<NetworkSnapshot> listener : listeners) {
            try {
                listener.accept(changed);
            } catch (RuntimeException e) {
                // A loop that has shut down takes no more tasks.
                listeners.remove(listener);
            }
        }
    }

    /** A loop that drives the host, or would. For its thread. */
    private final class Driver implements QueueChannel, ControlOutput {
        private final PortQueue port;
        private final HostView hostView;
        private final EventLoop loop;
        private final OwnHostGroupRules groupRules;
        private OwnHostReceiver receiver;
        private FrameBuf written;
        private ScheduledFuture<?> timer;
        private long timerNanos;
        private boolean driving;
        private boolean inBurst;

        Driver(PortQueue port, HostView hostView, EventLoop loop) {
            this.port = port;
            this.hostView = hostView;
            this.loop = loop;
            groupRules = new OwnHostGroupRules(port, this);
        }

        private String linkName(String device) {
            try {
                return NetworkDevices.ofDevice(device);
            } catch (java.io.IOException e) {
                throw new IllegalArgumentException(e.getMessage(), e);
            }
        }

        private void take() {
            driving = true;
            receiver = new OwnHostReceiver(host, this::find, hostView, ByteBufAllocator.DEFAULT,
                    ReassemblyLimits.DEFAULT, statistics);
            port.attach(this, OwnHostRules.of(config.mac(), host.addresses()));
            groupRules.steer(host.groups());
            setTimer();
        }

        /**
         * A segment for a port that nobody has is any stack's to refuse (RFC 9293 section 3.10.7.1), best this loop's.
         */
        private PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination,
                             int destinationPort) {
            PortOwner owner = OwnNetworkHost.this.find(protocol, source, sourcePort, destination, destinationPort);
            if (owner != null || protocol != IpProtocol.TCP) {
                return owner;
            }
            PortOwner refusing = null;
            for (PortOwner stack : stacks) {
                refusing = refusing == null || stack.loop() == loop ? stack : refusing;
            }
            return refusing == null ? null : new OwnTcpNetwork.Unsteered(OwnNetworkHost.this, refusing);
        }

        private void leave() {
            if (driving) {
                driving = false;
                receiver.close();
                port.detach(this);
                groupRules.leave();
            }
            if (timer != null) {
                timer.cancel(false);
                timer = null;
            }
        }

        private void solicit(IpAddress hop) {
            synchronized (OwnNetworkHost.this) {
                if (driving) {
                    host.solicit(hop, System.nanoTime());
                    endWork();
                }
            }
        }

        private void changeGroups(LongConsumer change) {
            synchronized (OwnNetworkHost.this) {
                if (driving) {
                    change.accept(System.nanoTime());
                    groupRules.steer(host.groups());
                    endWork();
                }
            }
        }

        /** A timer that is early enough stays: bursts would set it anew, and it finds out by itself. */
        private void setTimer() {
            long nowNanos = System.nanoTime();
            long untilNanos = Math.min(host.deadlineNanos(), receiver.deadlineNanos()) - nowNanos;
            if (publishLater) {
                untilNanos = Math.min(untilNanos, budget.dueNanos() - nowNanos);
            }
            long delayNanos = Math.clamp(untilNanos, MIN_TIMER_NANOS, MAX_TIMER_NANOS);
            if (timer != null && timerNanos - (nowNanos + delayNanos) <= 0) {
                return;
            }
            if (timer != null) {
                timer.cancel(false);
            }
            timerNanos = nowNanos + delayNanos;
            timer = loop.schedule(this::onTimer, delayNanos, TimeUnit.NANOSECONDS);
        }

        private void onTimer() {
            synchronized (OwnNetworkHost.this) {
                timer = null;
                if (driving) {
                    long now = System.nanoTime();
                    host.poll(now);
                    receiver.poll(now);
                    endWork();
                }
            }
        }

        private void endWork() {
            port.queue().post();
            publish();
            setTimer();
        }

        @Override
        public Channel channel() {
            return null;
        }

        @Override
        public String label() {
            return "host";
        }

        @Override
        public RdmaRawMetered statistics() {
            return statistics;
        }

        @Override
        public boolean receive(ByteBuf frame, boolean checksumVerified) {
            synchronized (OwnNetworkHost.this) {
                take(frame, checksumVerified);
                port.queue().post();
            }
            return true;
        }

        private void take(ByteBuf frame, boolean checksumVerified) {
            if (driving) {
                receiver.receive(frame, checksumVerified, System.nanoTime());
            } else {
                frame.release();
            }
        }

        /**
         * What the host answers goes out before a channel gets its frames of the burst: a frame that the device refuses
         * is told by its place among those posted, and channels count theirs only.
         */
        @Override
        public int receiveRun(ReceiveBurst burst, int from, int end) {
            inBurst = true;
            synchronized (OwnNetworkHost.this) {
                try {
                    for (int i = from; i < end; i++) {
                        take(burst.takeFrame(i), burst.checksumVerified(i));
                    }
                } finally {
                    port.queue().post();
                }
            }
            return end;
        }

        @Override
        public boolean isInBurst() {
            return inBurst;
        }

        @Override
        public void endBurst() {
            inBurst = false;
            synchronized (OwnNetworkHost.this) {
                if (driving) {
                    endWork();
                }
            }
        }

        @Override
        public void sendQueueHasRoom() {
            // Nothing waits: whoever was not answered asks again.
        }

        @Override
        public long allocate() {
            FrameQueue queue = port.queue();
            if (queue.sendRoom() == 0) {
                queue.post();
                queue.reclaim();
            }
            if (queue.sendRoom() == 0 || queue.slots().available() == 0) {
                return 0;
            }
            if (written == null) {
                written = queue.slots().take();
            }
            return written.memoryAddress();
        }

        @Override
        public void send(int lengthBytes) {
            FrameBuf frame = written;
            written = null;
            frame.writerIndex(lengthBytes);
            if (port.queue().offer(frame) != FrameQueue.ACCEPTED) {
                frame.release();
                LOGGER.debug("{}: the send queue is full, a control frame is lost", deviceName);
            }
        }
    }
}
