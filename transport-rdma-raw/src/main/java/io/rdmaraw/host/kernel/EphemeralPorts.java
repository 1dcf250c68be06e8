package io.rdmaraw.host.kernel;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.PortReservation;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.net.BindException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * The local ports for connections that the process opens in one network namespace. The kernel selects each port at
 * random and reserves it against other programs. If the kernel has no free port left, connections to different peers
 * share ports. This is possible because both ends identify a connection (RFC 6056 section 2.2). Thread-safe.
 */
final class EphemeralPorts {
    private static final Map<String, EphemeralPorts> BY_NAMESPACE = new HashMap<>();
    /** Pause after the kernel had no free port. Each such failure costs a search of its whole port range. */
    private static final long EXHAUSTED_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A port that is reserved against other programs, and the action that releases it. */
    record Reservation(int port, Runnable releaseAction) {
        void close() {
            releaseAction.run();
        }
    }

    /** Reserves a port of an address; 0 lets the reserver select one. */
    interface Reserver {
        Reservation reserve(Local local, int port) throws IOException;
    }

    /** An address of this host. The scope is the link of a link-local address, or 0. */
    record Local(IpAddress address, int scope) {
    }

    private record Peer(IpAddress address, int port) {
    }

    /** A reserved port and the peers it is connected to. */
    private static final class ReservedPort {
        private final Reservation reservation;
        private final Set<Peer> peers = new HashSet<>(2);
        private int index;

        ReservedPort(Reservation reservation) {
            this.reservation = reservation;
        }
    }

    /** The ports of one local address that connections may share. */
    private static final class Pool {
        private final List<ReservedPort> ports = new ArrayList<>();
        private final Map<Peer, Integer> usersByPeer = new HashMap<>();
        private boolean kernelExhausted;
        private long exhaustedNanos;
    }

    private final Reserver reserver;
    private final Map<Local, Pool> pools = new HashMap<>();

    EphemeralPorts(Reserver reserver) {
        this.reserver = reserver;
    }

    /**
     * Returns the instance for the network namespace of the calling thread. It is created on first use and never
     * removed.
     */
    static EphemeralPorts ofCallingThread() throws IOException {
        String namespace = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")).toString();
        synchronized (BY_NAMESPACE) {
            return BY_NAMESPACE.computeIfAbsent(namespace, key -> new EphemeralPorts(EphemeralPorts::reserveInKernel));
        }
    }

    private static Reservation reserveInKernel(Local local, int port) throws IOException {
        PortReservation placeholder = PortReservation.reserve(IpProtocol.TCP, local.address, false, port,
                local.scope);
        return new Reservation(placeholder.port(), placeholder::close);
    }

    /**
     * Reserves a port for a connection in the network namespace of the calling thread.
     *
     * @param scope the link of a link-local IPv6 address, or 0
     * @param port the port, or 0 to select one
     * @throws BindException if the port is in use, or if all ports are in use towards this peer
     */
    Reservation reserve(IpAddress address, int scope, int port, IpAddress remote, int remotePort) throws IOException {
        Local local = new Local(address, scope);
        if (port != 0) {
            return reserver.reserve(local, port);
        }
        Peer peer = new Peer(remote, remotePort);
        BindException refusal = null;
        if (mayQueryKernel(local)) {
            try {
                return add(local, reserver.reserve(local, 0), peer);
            } catch (BindException e) {
                refusal = e;
            }
        }
        Reservation reserved = reusePort(local, peer, refusal != null);
        if (reserved != null) {
            return reserved;
        }
        throw refusal != null ? refusal : new BindException("Cannot assign requested address: all ports of " + address
                + " are in use towards port " + remotePort + " of " + remote
                + "; widen net.ipv4.ip_local_port_range, or close connections");
    }

    private synchronized boolean mayQueryKernel(Local local) {
        Pool pool = pools.get(local);
        return pool == null || !pool.kernelExhausted || System.nanoTime() - pool.exhaustedNanos > EXHAUSTED_PAUSE_NANOS;
    }

    private synchronized Reservation add(Local local, Reservation reservation, Peer peer) {
        Pool pool = pools.computeIfAbsent(local, key -> new Pool());
        ReservedPort added = new ReservedPort(reservation);
        added.index = pool.ports.size();
        pool.ports.add(added);
        pool.kernelExhausted = false;
        return addPeer(local, pool, added, peer);
    }

    /**
     * Shares a reserved port with a connection to another peer. The search starts at a random port, so that the result
     * cannot be guessed (RFC 6056 section 3.3.1).
     */
    private synchronized Reservation reusePort(Local local, Peer peer, boolean kernelExhausted) {
        Pool pool = pools.get(local);
        if (pool == null) {
            return null;
        }
        if (kernelExhausted) {
            pool.kernelExhausted = true;
            pool.exhaustedNanos = System.nanoTime();
        }
        int count = pool.ports.size();
        if (count == 0 || pool.usersByPeer.getOrDefault(peer, 0) == count) {
            return null;
        }
        int first = ThreadLocalRandom.current().nextInt(count);
        for (int i = 0; i < count; i++) {
            ReservedPort reserved = pool.ports.get((first + i) % count);
            if (!reserved.peers.contains(peer)) {
                return addPeer(local, pool, reserved, peer);
            }
        }
        return null;
    }

    private Reservation addPeer(Local local, Pool pool, ReservedPort reserved, Peer peer) {
        reserved.peers.add(peer);
        pool.usersByPeer.merge(peer, 1, Integer::sum);
        return new Reservation(reserved.reservation.port, () -> removePeer(local, pool, reserved, peer));
    }

    private synchronized void removePeer(Local local, Pool pool, ReservedPort reserved, Peer peer) {
        if (!reserved.peers.remove(peer)) {
            return;
        }
        pool.usersByPeer.computeIfPresent(peer, (key, users) -> users == 1 ? null : users - 1);
        if (!reserved.peers.isEmpty()) {
            return;
        }
        ReservedPort last = pool.ports.removeLast();
        if (last != reserved) {
            last.index = reserved.index;
            pool.ports.set(reserved.index, last);
        }
        pool.kernelExhausted = false;
        if (pool.ports.isEmpty()) {
            pools.remove(local, pool);
        }
        reserved.reservation.close();
    }
}
