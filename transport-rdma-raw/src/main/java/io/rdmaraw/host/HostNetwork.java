package io.rdmaraw.host;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.ffi.EventFd;
import io.rdmaraw.ffi.FdWaiter;
import io.rdmaraw.route.IpAddress;
import io.rdmaraw.route.KernelNetwork;
import io.rdmaraw.route.NetworkSnapshot;
import io.rdmaraw.route.RouteQuery;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/**
 * The kernel's network as all loops of the process see it, one per network namespace: a thread that reads the kernel's
 * notifications, publishes snapshots, and has the kernel resolve neighbours. Thread-safe.
 */
final class HostNetwork implements IpHost {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(HostNetwork.class);
    private static final Map<String, HostNetwork> BY_NAMESPACE = new HashMap<>();
    /** Solicitations beyond this are dropped; the loops ask again. */
    private static final int MAX_QUEUED = 4096;

    private record Solicitation(int linkIndex, IpAddress hop) {
    }

    private final KernelNetwork kernel;
    private final RouteQuery routes;
    private final EventFd wakeup = new EventFd();
    private final Queue<Solicitation> solicitations = new ConcurrentLinkedQueue<>();
    private final List<Consumer<NetworkSnapshot>> listeners = new CopyOnWriteArrayList<>();

    private HostNetwork(KernelNetwork kernel, RouteQuery routes) {
        this.kernel = kernel;
        this.routes = routes;
        Thread thread = new Thread(this::run, "rdma-raw-route");
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns the network of the namespace that the calling thread lives in; made on first use, and then kept. */
    static HostNetwork ofCallingThread() throws IOException {
        String namespace = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")).toString();
        synchronized (BY_NAMESPACE) {
            HostNetwork network = BY_NAMESPACE.get(namespace);
            if (network == null) {
                network = new HostNetwork(KernelNetwork.open(), new RouteQuery());
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
    public NetworkSnapshot.Path path(NetworkSnapshot snapshot, IpAddress destination, IpAddress sourceOrNull) {
        if (!snapshot.hasPolicyRules()) {
            return IpHost.super.path(snapshot, destination, sourceOrNull);
        }
        try {
            return snapshot.path(routes.ask(destination, sourceOrNull), destination, 0);
        } catch (IOException e) {
            LOGGER.warn("the kernel does not say how {} is reached; its main table is taken", destination, e);
            return IpHost.super.path(snapshot, destination, sourceOrNull);
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
    public void solicit(int linkIndex, IpAddress hop) {
        if (solicitations.size() < MAX_QUEUED) {
            solicitations.add(new Solicitation(linkIndex, hop));
            wakeup.signal();
        }
    }

    private void run() {
        try (FdWaiter waiter = new FdWaiter(kernel.fd(), wakeup.fd())) {
            while (true) {
                waiter.await(-1);
                wakeup.drain();
                solicitAll();
                if (kernel.poll()) {
                    tellListeners();
                }
            }
        } catch (IOException e) {
            LOGGER.error("the kernel's network can be followed no longer; routes and neighbours stay as they are", e);
        }
    }

    private void solicitAll() {
        for (Solicitation next = solicitations.poll(); next != null; next = solicitations.poll()) {
            try {
                kernel.solicit(next.linkIndex(), next.hop());
            } catch (IOException e) {
                LOGGER.warn("neighbour {} on link {} cannot be resolved", next.hop(), next.linkIndex(), e);
            }
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
