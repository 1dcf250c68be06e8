package io.rdmaraw.host.userspace;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.NetworkDevices;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.host.PortTable;
import io.rdmaraw.host.SnapshotRateLimiter;
import io.rdmaraw.loop.CrossLoopQueueLimit;
import io.rdmaraw.loop.LoopTasks;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.SourceFilter;
import io.rdmaraw.wire.IpProtocol;
import io.rdmaraw.wire.UdpHeader;

import java.net.BindException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * A userspace host that the loops of the process share. One of the loops that use the device drives it: that loop
 * receives ARP, neighbour discovery, ICMP, and all frames to the host's MAC address that match no channel's rule. When
 * that loop leaves, another one takes over. Ports and snapshots may be used on any thread. Everything else is guarded
 * by a lock that usually only the driving loop acquires.
 */
public final class UserspaceIpHost implements IpHost {
    private static final Map<String, UserspaceIpHost> BY_DEVICE = new HashMap<>();

    private final String deviceName;
    private final UserspaceHostConfig config;
    private final PortTable ports = new PortTable(this::hasAddress, new SecureRandom());
    private final AtomicLong portIds = new AtomicLong();
    private final List<Consumer<NetworkSnapshot>> listeners = new CopyOnWriteArrayList<>();
    private final List<UserspaceHostDriver> drivers = new ArrayList<>();
    private final List<PortOwner> stacks = new CopyOnWriteArrayList<>();
    private UserspaceHostEngine host;
    private volatile NetworkSnapshot snapshot;
    private final SnapshotRateLimiter snapshotLimiter = new SnapshotRateLimiter(System.nanoTime());
    /** Set if a change may be unpublished because the rate limit was reached. */
    private boolean publishPending;
    private final UserspaceHostStatistics statistics;
    private final CrossLoopQueueLimit localQueueLimit = new CrossLoopQueueLimit();

    private UserspaceIpHost(String deviceName, UserspaceHostConfig config) {
        this.deviceName = deviceName;
        this.config = config;
        statistics = new UserspaceHostStatistics(this::counters);
    }

    /**
     * Adds a loop to a host. The first loop creates the host.
     *
     * @throws IllegalArgumentException if the process has a different host with the same MAC address on the device
     */
    public static UserspaceIpHost join(String deviceName, UserspaceHostConfig config, DeviceQueue deviceQueue,
            IpContext ipContext, EventLoop loop) {
        synchronized (BY_DEVICE) {
            String name = deviceName + ' ' + Long.toHexString(config.mac());
            UserspaceIpHost existing = BY_DEVICE.computeIfAbsent(name, key -> new UserspaceIpHost(deviceName, config));
            if (!existing.config.equals(config)) {
                throw new IllegalArgumentException("the process already has a host with this MAC address on "
                        + deviceName + ", but with other addresses: " + existing.config);
            }
            existing.add(deviceQueue, ipContext, loop);
            return existing;
        }
    }

    private synchronized void add(DeviceQueue deviceQueue, IpContext ipContext, EventLoop loop) {
        for (UserspaceHostDriver driver : drivers) {
            if (driver.deviceQueue() == deviceQueue) {
                return;
            }
        }
        UserspaceHostDriver driver = new UserspaceHostDriver(this, deviceQueue, ipContext, loop);
        drivers.add(driver);
        deviceQueue.addCloseAction(() -> remove(driver));
        if (drivers.size() == 1) {
            host = new UserspaceHostEngine(config, linkName(deviceName), deviceQueue.limits().mtuBytes(), driver,
                    new SecureRandom());
            host.start(System.nanoTime());
            publish();
            driver.startDriving(host);
        }
    }

    /**
     * Returns the name of the device's interface. It may be in another network namespace and thus unknown; a userspace
     * host does not need it.
     */
    private static String linkName(String device) {
        String name = NetworkDevices.interfaceOfOrNull(device);
        return name != null ? name : device;
    }

    /** Removes a driver because its queue closes. Called on its loop. */
    private void remove(UserspaceHostDriver driver) {
        // The same lock order as in join().
        synchronized (BY_DEVICE) {
            synchronized (this) {
                removeNow(driver);
            }
        }
    }

    private void removeNow(UserspaceHostDriver driver) {
        boolean wasDriving = !drivers.isEmpty() && drivers.getFirst() == driver;
        drivers.remove(driver);
        driver.stop();
        if (drivers.isEmpty()) {
            BY_DEVICE.values().remove(this);
        } else if (wasDriving) {
            UserspaceHostDriver next = drivers.getFirst();
            LoopTasks.executeOrElse(next.loop(), () -> takeOver(next), () -> { });
        }
    }

    private synchronized void takeOver(UserspaceHostDriver next) {
        if (!drivers.isEmpty() && drivers.getFirst() == next) {
            host.setOutput(next);
            next.startDriving(host);
        }
    }

    private boolean hasAddress(IpAddress address) {
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
    public void solicit(int linkIndex, IpAddress hop, Runnable onRefused) {
        runOnDriver(driver -> driver.solicit(hop));
    }

    /** Registers a stack for ICMP errors. All stacks receive all errors, because a connection may be on any loop. */
    void add(PortOwner stack) {
        stacks.add(stack);
    }

    void remove(PortOwner stack) {
        stacks.remove(stack);
    }

    /** Passes an ICMP error to all stacks. May be called on any thread. */
    void notifyStacks(IcmpError error) {
        stacks.forEach(stack -> stack.onIcmpError(error));
    }

    UserspaceHostCounters counters() {
        return host.counters();
    }

    BoundPort bind(int protocol, IpAddress local, boolean dualStack, int port, PortSharing sharing, PortOwner owner)
            throws BindException {
        return ports.bind(protocol, portIds.incrementAndGet(), local, dualStack, port, sharing, owner);
    }

    /** Binds a TCP port for a listener. */
    BoundPort listen(IpAddress local, int port, PortSharing sharing, PortOwner owner) throws BindException {
        return ports.listen(portIds.incrementAndGet(), local, port, sharing, owner);
    }

    BoundPort connect(BoundPort bound, IpAddress local, IpAddress remoteOrNull, int remotePort) {
        return ports.connect(bound, local, remoteOrNull, remotePort);
    }

    void unbind(BoundPort bound) {
        ports.unbind(bound);
        runOnDriver(driver -> driver.changeGroups(now -> host.leaveGroups(bound.id(), now)));
    }

    /** Sets the sources that the owner of a port accepts from a group. */
    void setGroup(BoundPort bound, IpAddress group, SourceFilter filter) {
        runOnDriver(driver -> driver.changeGroups(now -> host.setGroup(bound.id(), group, filter, now)));
    }

    /**
     * Delivers a UDP datagram to the owner of its port on this host. Returns false if the port is closed. If the
     * owner's loop is too far behind, the datagram is dropped, as on an overloaded network.
     */
    boolean deliverLocally(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        PortOwner owner = find(IpProtocol.UDP, path.source(), path.sourcePort(), path.target(), path.targetPort());
        if (owner == null) {
            return false;
        }
        if (!localQueueLimit.tryAcquire(1)) {
            statistics.countOwnerQueueFull();
            return true;
        }
        ByteBuf datagram = ByteBufAllocator.DEFAULT.directBuffer(UdpHeader.LENGTH_BYTES + lengthBytes)
                .writeShort(path.sourcePort()).writeShort(path.targetPort())
                .writeShort(UdpHeader.LENGTH_BYTES + lengthBytes).writeShort(0)
                .writeBytes(content, index, lengthBytes);
        LoopTasks.executeOrElse(owner.loop(), () -> {
            localQueueLimit.release(1);
            owner.receiveReassembled(datagram, path.source(), path.target());
        }, () -> {
            localQueueLimit.release(1);
            datagram.release();
        });
        return true;
    }

    /** Runs an action on the driving loop. Does nothing if that loop has ended; another loop is about to take over. */
    private synchronized void runOnDriver(Consumer<UserspaceHostDriver> action) {
        if (!drivers.isEmpty()) {
            UserspaceHostDriver driver = drivers.getFirst();
            LoopTasks.executeOrElse(driver.loop(), () -> action.accept(driver), () -> { });
        }
    }

    PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int destinationPort) {
        BoundPort bound = ports.find(protocol, source, sourcePort, destination, destinationPort);
        return bound == null ? null : bound.ownerOrNull();
    }

    long mac() {
        return config.mac();
    }

    UserspaceHostStatistics statistics() {
        return statistics;
    }

    /** Returns a TCP stack of the host, preferably that of the given loop; null if there is none. */
    PortOwner preferredStack(EventLoop loop) {
        PortOwner preferred = null;
        for (PortOwner stack : stacks) {
            preferred = preferred == null || stack.loop() == loop ? stack : preferred;
        }
        return preferred;
    }

    /** Returns the time until {@link #publish} must be called, in nanoseconds. */
    long untilPublishNanos(long nowNanos) {
        return publishPending ? snapshotLimiter.dueNanos() - nowNanos : Long.MAX_VALUE;
    }

    /** Publishes a changed snapshot, within the limit for the time spent on snapshots. */
    void publish() {
        long startNanos = System.nanoTime();
        publishPending = !snapshotLimiter.allows(startNanos);
        NetworkSnapshot changed = publishPending ? null : host.snapshotIfChanged();
        if (changed == null) {
            return;
        }
        notifyListeners(changed);
        snapshotLimiter.recordSpent(System.nanoTime() - startNanos);
    }

    private void notifyListeners(NetworkSnapshot changed) {
        snapshot = changed;
        for (Consumer<NetworkSnapshot> listener : listeners) {
            try {
                listener.accept(changed);
            } catch (RuntimeException e) {
                // The loop has shut down and rejects tasks.
                listeners.remove(listener);
            }
        }
    }
}
