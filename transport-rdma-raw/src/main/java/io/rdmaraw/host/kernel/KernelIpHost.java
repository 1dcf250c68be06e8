package io.rdmaraw.host.kernel;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.SnapshotRateLimiter;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.Link;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.rtnetlink.RouteQuery;
import io.rdmaraw.net.rtnetlink.RtnetlinkMonitor;
import io.rdmaraw.net.socket.NeighborSolicitation;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The kernel's network in one network namespace, shared by all loops of the process. A thread reads the kernel's
 * notifications, publishes snapshots and makes the kernel resolve neighbours. Thread-safe.
 */
public final class KernelIpHost implements IpHost {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelIpHost.class);
    private static final Map<String, KernelIpHost> BY_NAMESPACE = new HashMap<>();
    /** Charged to the rate limiter if the kernel does not respond, so that the next attempt follows after a second. */
    private static final long FAILURE_COST_NANOS =
            SnapshotRateLimiter.BURST_NANOS + TimeUnit.SECONDS.toNanos(1) / SnapshotRateLimiter.SHARE_DIVISOR;
    /** Maximum time for which {@link #link} waits. */
    private static final long MAX_LINK_WAIT_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Maximum number of queued solicitations. Further ones are rejected, and the loops repeat them. */
    private static final int MAX_QUEUED = 4096;

    /**
     * Minimum interval of log messages about refused solicitations. A full neighbour table refuses many in a second.
     */
    private static final long REFUSAL_LOG_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(10);

    private record Solicitation(int linkIndex, IpAddress hop, Runnable onRefused) {
    }

    private record Hop(int linkIndex, IpAddress address) {
    }

    private final RtnetlinkMonitor monitor;
    private final RouteQuery routes;
    private final EventFd wakeup = new EventFd();
    private final Queue<Solicitation> solicitations = new ConcurrentLinkedQueue<>();
    /** IPv6 neighbours whose last solicitation the kernel could not send. Used by the thread only. */
    private final Set<Hop> unsent = new HashSet<>();
    private volatile boolean mustRereadAll;
    private long refusals;
    private long refusalLoggedNanos;
    private final Map<Integer, LinkChangeLogger> linkLoggers = new ConcurrentHashMap<>();
    private final List<Consumer<NetworkSnapshot>> listeners = new CopyOnWriteArrayList<>();

    private KernelIpHost(RtnetlinkMonitor monitor, RouteQuery routes) {
        this.monitor = monitor;
        this.routes = routes;
        Thread thread = new Thread(this::run, "rdma-raw-route");
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Returns the instance for the network namespace of the calling thread. It is created on first use and never
     * removed.
     */
    public static KernelIpHost ofCallingThread() throws IOException {
        String namespace = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")).toString();
        synchronized (BY_NAMESPACE) {
            KernelIpHost host = BY_NAMESPACE.get(namespace);
            if (host == null) {
                host = new KernelIpHost(RtnetlinkMonitor.open(), new RouteQuery());
                BY_NAMESPACE.put(namespace, host);
            }
            return host;
        }
    }

    @Override
    public NetworkSnapshot snapshot() {
        return monitor.snapshot();
    }

    /**
     * {@inheritDoc} Another thread reads the kernel's notifications, and late on a host whose network often changes. So
     * this waits for the next snapshots if the kernel has a link that the present one lacks.
     */
    @Override
    public Link link(String name) throws IOException {
        Link known = snapshot().link(name);
        if (known != null || !kernelHasLink(name)) {
            return known;
        }
        CountDownLatch read = new CountDownLatch(1);
        Consumer<NetworkSnapshot> listener = snapshot -> {
            if (snapshot.link(name) != null) {
                read.countDown();
            }
        };
        addListener(listener);
        try {
            listener.accept(snapshot());
            if (!read.await(MAX_LINK_WAIT_NANOS, TimeUnit.NANOSECONDS)) {
                LOGGER.warn("the kernel has the interface {}, but has not reported it for {} s", name,
                        TimeUnit.NANOSECONDS.toSeconds(MAX_LINK_WAIT_NANOS));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            removeListener(listener);
        }
        return snapshot().link(name);
    }

    /** Returns whether the network namespace of the calling thread has an interface of this name. */
    private static boolean kernelHasLink(String name) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/thread-self/net/dev"))) {
            return lines.anyMatch(line -> line.stripLeading().startsWith(name + ":"));
        }
    }

    /** Uses the routes of the snapshot. If the host has policy rules, the kernel is queried for each path instead. */
    @Override
    public NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
            int mark, int preferredLink) {
        if (!snapshot.hasPolicyRules()) {
            return IpHost.super.path(snapshot, destination, sourceOrNull, mark, preferredLink);
        }
        try {
            return queryRoute(snapshot, destination, sourceOrNull, mark, preferredLink);
        } catch (IOException e) {
            if (mark != 0) {
                // Do not send: without the mark, the packet could take a forbidden route.
                LOGGER.warn("the kernel's route lookup for {} with the mark {} failed; packets to it are dropped",
                        destination, mark, e);
                return null;
            }
            LOGGER.warn("the kernel's route lookup for {} failed; using its main table", destination, e);
            return IpHost.super.path(snapshot, destination, sourceOrNull, mark, preferredLink);
        }
    }

    /**
     * Queries the kernel, which returns one next hop. If that hop is on another link, a second query checks whether the
     * route also has a next hop on the preferred link.
     */
    private NetworkSnapshot.Path queryRoute(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
            int mark, int preferredLink) throws IOException {
        int onlyLink = destination.isLinkLocal() ? preferredLink : NetworkSnapshot.NO_LINK;
        NetworkSnapshot.Path path = snapshot.path(routes.query(destination, sourceOrNull, onlyLink, mark, false),
                destination, 0, preferredLink);
        if (path == null || path.link().index() == preferredLink) {
            return path;
        }
        NetworkSnapshot.Path preferred = snapshot.path(routes.query(destination, sourceOrNull, mark, true), destination,
                destination.hashCode(), preferredLink);
        return preferred != null && preferred.link().index() == preferredLink ? preferred : path;
    }

    @Override
    public void logLinkChanges(int linkIndex, String deviceName) {
        linkLoggers.computeIfAbsent(linkIndex,
                index -> new LinkChangeLogger(deviceName, monitor.snapshot().link(index)));
    }

    @Override
    public void addListener(Consumer<NetworkSnapshot> listener) {
        listeners.add(listener);
    }

    @Override
    public void removeListener(Consumer<NetworkSnapshot> listener) {
        listeners.remove(listener);
    }

    /** Returns the number of listeners, for tests. */
    public int listenerCount() {
        return listeners.size();
    }

    @Override
    public void solicit(int linkIndex, IpAddress hop, Runnable onRefused) {
        if (solicitations.size() < MAX_QUEUED) {
            solicitations.add(new Solicitation(linkIndex, hop, onRefused));
            wakeup.signal();
        } else {
            onRefused.run();
        }
    }

    @Override
    public void rereadAll() {
        mustRereadAll = true;
        wakeup.signal();
    }

    @Override
    public long lostNotifications() {
        return monitor.overflows();
    }

    /**
     * Runs forever. If many addresses appear on the link, the kernel sends more neighbour notifications than can be
     * read, and some are lost. Therefore reading notifications is limited to a share of the time. Solicitations are not
     * limited.
     */
    private void run() {
        try (FdWaiter waiter = new FdWaiter(monitor.fd(), wakeup.fd());
                FdWaiter wakeupWaiter = new FdWaiter(wakeup.fd())) {
            SnapshotRateLimiter snapshotLimiter = new SnapshotRateLimiter(System.nanoTime());
            boolean isCurrent = true;
            while (true) {
                long now = System.nanoTime();
                if (snapshotLimiter.allows(now)) {
                    waiter.await(isCurrent ? -1 : 0);
                } else {
                    wakeupWaiter.await(snapshotLimiter.dueNanos() - now);
                }
                wakeup.drain();
                solicitAll();
                long startNanos = System.nanoTime();
                if (snapshotLimiter.allows(startNanos)) {
                    isCurrent = processChanges();
                    snapshotLimiter.recordSpent(isCurrent ? System.nanoTime() - startNanos : FAILURE_COST_NANOS);
                }
            }
        }
    }

    private boolean processChanges() {
        try {
            if (mustRereadAll) {
                mustRereadAll = false;
                monitor.rereadAll();
            }
            if (monitor.poll()) {
                linkLoggers.forEach((index, watch) -> watch.update(monitor.snapshot().link(index)));
                notifyListeners();
            }
            return true;
        } catch (IOException | RuntimeException e) {
            LOGGER.warn("cannot monitor the kernel's routes and neighbours; the last known state is used. Retrying in a"
                    + " second", e);
            return false;
        }
    }

    /**
     * Sends the queued solicitations. A refusal is only logged, because the loop repeats the solicitation when it needs
     * the neighbour.
     */
    private void solicitAll() {
        for (Solicitation next = solicitations.poll(); next != null; next = solicitations.poll()) {
            try {
                solicit(next.linkIndex(), next.hop());
            } catch (IOException e) {
                onRefused(next, e);
            }
        }
    }

    /**
     * Makes the kernel solicit a neighbour. On a link without a link-local address the kernel cannot solicit an IPv6
     * neighbour, so this process does. It does so once more when the link has such an address: the kernel's entry would
     * wait for its retransmission timer.
     */
    private void solicit(int linkIndex, IpAddress hop) throws IOException {
        monitor.solicit(linkIndex, hop);
        Link link = monitor.snapshot().link(linkIndex);
        if (hop.isIpv4() || link == null) {
            return;
        }
        Hop key = new Hop(linkIndex, hop);
        boolean wasUnsent = unsent.remove(key);
        boolean isUnsent = !monitor.snapshot().hasLinkLocalAddress(linkIndex);
        if (isUnsent && unsent.size() < MAX_QUEUED) {
            unsent.add(key);
        }
        if (isUnsent || wasUnsent) {
            NeighborSolicitation.send(linkIndex, link.mac(), hop);
        }
    }

    private void onRefused(Solicitation solicitation, IOException cause) {
        solicitation.onRefused().run();
        refusals++;
        long now = System.nanoTime();
        if (refusals == 1 || now - refusalLoggedNanos > REFUSAL_LOG_INTERVAL_NANOS) {
            refusalLoggedNanos = now;
            LOGGER.warn("neighbour {} on link {} cannot be resolved ({} refusals so far)", solicitation.hop(),
                    solicitation.linkIndex(), refusals, cause);
        }
    }

    private void notifyListeners() {
        NetworkSnapshot snapshot = monitor.snapshot();
        for (Consumer<NetworkSnapshot> listener : listeners) {
            try {
                listener.accept(snapshot);
            } catch (RuntimeException e) {
                // The loop has shut down and rejects tasks.
                listeners.remove(listener);
            }
        }
    }
}
