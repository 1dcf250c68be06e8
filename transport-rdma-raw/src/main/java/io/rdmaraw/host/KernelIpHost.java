package io.rdmaraw.host;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;
import io.rdmaraw.net.netlink.RouteQuery;
import io.rdmaraw.net.netlink.RtnetlinkMonitor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The kernel's network as all loops of the process see it, one per network namespace: a thread that reads the kernel's
 * notifications, publishes snapshots, and has the kernel resolve neighbours. Thread-safe.
 */
final class KernelIpHost implements IpHost {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(KernelIpHost.class);
    private static final Map<String, KernelIpHost> BY_NAMESPACE = new HashMap<>();
    /** A kernel that does not answer is asked again after a second. */
    private static final long FAILURE_COST_NANOS =
            SnapshotRateLimiter.AT_ONCE_NANOS + TimeUnit.SECONDS.toNanos(1) / SnapshotRateLimiter.SHARE;
    /** Solicitations beyond this are dropped; the loops ask again. */
    private static final int MAX_QUEUED = 4096;

    /** A full table of neighbours refuses many a second: at most one line in this time tells of it. */
    private static final long REFUSAL_LINE_NANOS = TimeUnit.SECONDS.toNanos(10);

    private record Solicitation(int linkIndex, IpAddress hop, Runnable refused) {
    }

    private final RtnetlinkMonitor kernel;
    private final RouteQuery routes;
    private final EventFd wakeup = new EventFd();
    private final Queue<Solicitation> solicitations = new ConcurrentLinkedQueue<>();
    private long refusals;
    private long refusalToldNanos;
    private final List<Consumer<NetworkSnapshot>> listeners = new CopyOnWriteArrayList<>();

    private KernelIpHost(RtnetlinkMonitor kernel, RouteQuery routes) {
        this.kernel = kernel;
        this.routes = routes;
        Thread thread = new Thread(this::run, "rdma-raw-route");
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns the network of the namespace that the calling thread lives in; made on first use, and then kept. */
    static KernelIpHost ofCallingThread() throws IOException {
        String namespace = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")).toString();
        synchronized (BY_NAMESPACE) {
            KernelIpHost network = BY_NAMESPACE.get(namespace);
            if (network == null) {
                network = new KernelIpHost(RtnetlinkMonitor.open(), new RouteQuery());
                BY_NAMESPACE.put(namespace, network);
            }
            return network;
        }
    }

    @Override
    public NetworkSnapshot snapshot() {
        return kernel.snapshot();
    }

    /** As long as the host has no policy rules the snapshot knows the routes; else the kernel is asked for each. */
    @Override
    public NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull,
            int mark) {
        if (!snapshot.hasPolicyRules()) {
            return IpHost.super.path(snapshot, destination, sourceOrNull, mark);
        }
        try {
            return snapshot.path(routes.ask(destination, sourceOrNull, mark), destination, 0);
        } catch (IOException e) {
            if (mark != 0) {
                // Unmarked it might go where it must not.
                LOGGER.warn("the kernel does not say how {} is reached with the mark {}; nothing is sent there",
                        destination, mark, e);
                return null;
            }
            LOGGER.warn("the kernel does not say how {} is reached; its main table is taken", destination, e);
            return IpHost.super.path(snapshot, destination, sourceOrNull, mark);
        }
    }

    @Override
    public void addListener(Consumer<NetworkSnapshot> listener) {
        listeners.add(listener);
    }

    @Override
    public void removeListener(Consumer<NetworkSnapshot> listener) {
        listeners.remove(listener);
    }

    /** Returns how many are told of each new snapshot, for tests. */
    int listenerCount() {
        return listeners.size();
    }

    @Override
    public void solicit(int linkIndex, IpAddress hop, Runnable refused) {
        if (solicitations.size() < MAX_QUEUED) {
            solicitations.add(new Solicitation(linkIndex, hop, refused));
            wakeup.signal();
        } else {
            refused.run();
        }
    }

    @Override
    public long lostNotifications() {
        return kernel.overflows();
    }

    /**
     * Never ends. Under a flood of addresses on the link the kernel reports so many neighbours that it has to drop
     * some. Following them is limited to a share of the time; solicitations are not.
     */
    private void run() {
        try (FdWaiter all = new FdWaiter(kernel.fd(), wakeup.fd()); FdWaiter apart = new FdWaiter(wakeup.fd())) {
            SnapshotRateLimiter budget = new SnapshotRateLimiter(System.nanoTime());
            boolean isFollowed = true;
            while (true) {
                long now = System.nanoTime();
                if (budget.allows(now)) {
                    all.await(isFollowed ? -1 : 0);
                } else {
                    apart.await(budget.dueNanos() - now);
                }
                wakeup.drain();
                solicitAll();
                long begunNanos = System.nanoTime();
                if (budget.allows(begunNanos)) {
                    isFollowed = follow();
                    budget.spent(isFollowed ? System.nanoTime() - begunNanos : FAILURE_COST_NANOS);
                }
            }
        }
    }

    private boolean follow() {
        try {
            if (kernel.poll()) {
                tellListeners();
            }
            return true;
        } catch (IOException | RuntimeException e) {
            LOGGER.warn("the kernel's network cannot be followed; routes and neighbours stay as they are until it"
                    + " answers, which is tried again in a second", e);
            return false;
        }
    }

    /** Who could not be resolved is asked for again by the loop that needs it, so a refusal is only worth a line. */
    private void solicitAll() {
        for (Solicitation next = solicitations.poll(); next != null; next = solicitations.poll()) {
            try {
                kernel.solicit(next.linkIndex(), next.hop());
            } catch (IOException e) {
                refused(next, e);
            }
        }
    }

    private void refused(Solicitation solicitation, IOException why) {
        solicitation.refused().run();
        refusals++;
        long now = System.nanoTime();
        if (refusals == 1 || now - refusalToldNanos > REFUSAL_LINE_NANOS) {
            refusalToldNanos = now;
            LOGGER.warn("neighbour {} on link {} cannot be resolved ({} refusals so far)", solicitation.hop(),
                    solicitation.linkIndex(), refusals, why);
        }
    }

    private void tellListeners() {
        NetworkSnapshot snapshot = kernel.snapshot();
        for (Consumer<NetworkSnapshot> listener : listeners) {
            try {
                listener.accept(snapshot);
            } catch (RuntimeException e) {
                // A loop that has shut down takes no more tasks.
                listeners.remove(listener);
            }
        }
    }
}
