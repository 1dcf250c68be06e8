package io.rdmaraw.host;

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
 * The local ports of the connections that the process opens in a network namespace. The kernel chooses each at random
 * and keeps other programs off it. When it has none left, connections to different peers share ports: a connection is
 * known by both of its ends, so there are as many as ports for each peer (RFC 6056 section 2.2). Thread-safe.
 */
final class EphemeralPorts {
    private static final Map<String, EphemeralPorts> BY_NAMESPACE = new HashMap<>();
    /** The kernel looks at all of its ports before it says that none is free, so it is not asked again at once. */
    private static final long REFUSED_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A port that other programs are kept off, and how it is given back. */
    record Reservation(int port, Runnable giveBack) {
        void close() {
            giveBack.run();
        }
    }

    /** Keeps others off a port of an address, or off one of its own choice for 0. */
    interface Reserver {
        Reservation reserve(Local local, int port) throws IOException;
    }

    /** An address of this host, with the link that a link-local one belongs to, or 0. */
    record Local(IpAddress address, int scope) {
    }

    private record Peer(IpAddress address, int port) {
    }

    /** A port with those that it is connected to. */
    private static final class Shared {
        private final Reservation reservation;
        private final Set<Peer> peers = new HashSet<>(2);
        private int index;

        Shared(Reservation reservation) {
            this.reservation = reservation;
        }
    }

    /** The ports of one local address that connections may share. */
    private static final class Pool {
        private final List<Shared> ports = new ArrayList<>();
        private final Map<Peer, Integer> usersByPeer = new HashMap<>();
        private boolean refused;
        private long refusedNanos;
    }

    private final Reserver kernel;
    private final Map<Local, Pool> pools = new HashMap<>();

    EphemeralPorts(Reserver kernel) {
        this.kernel = kernel;
    }

    /** Returns those of the namespace that the calling thread lives in; made on first use, and then kept. */
    static EphemeralPorts ofCallingThread() throws IOException {
        String namespace = Files.readSymbolicLink(Path.of("/proc/thread-self/ns/net")).toString();
        synchronized (BY_NAMESPACE) {
            return BY_NAMESPACE.computeIfAbsent(namespace, key -> new EphemeralPorts(EphemeralPorts::placeholder));
        }
    }

    private static Reservation placeholder(Local local, int port) throws IOException {
        PortReservation placeholder = PortReservation.reserve(IpProtocol.TCP, local.address, false, port,
                local.scope);
        return new Reservation(placeholder.port(), placeholder::close);
    }

    /**
     * Takes a port for a connection, in the network namespace of the calling thread.
     *
     * @param scope the link of a link-local IPv6 address, or 0
     * @param port a port that is free, or 0 for one of the host's choice
     * @throws BindException when it is taken, or all are taken towards this peer
     */
    Reservation take(IpAddress address, int scope, int port, IpAddress remote, int remotePort) throws IOException {
        Local local = new Local(address, scope);
        if (port != 0) {
            return kernel.reserve(local, port);
        }
        Peer peer = new Peer(remote, remotePort);
        BindException refusal = null;
        if (mayAsk(local)) {
            try {
                return add(local, kernel.reserve(local, 0), peer);
            } catch (BindException e) {
                refusal = e;
            }
        }
        Reservation shared = share(local, peer, refusal != null);
        if (shared != null) {
            return shared;
        }
        throw refusal != null ? refusal : new BindException("Cannot assign requested address: all ports of " + address
                + " are in use towards port " + remotePort + " of " + remote
                + "; widen net.ipv4.ip_local_port_range, or close connections");
    }

    private synchronized boolean mayAsk(Local local) {
        Pool pool = pools.get(local);
        return pool == null || !pool.refused || System.nanoTime() - pool.refusedNanos > REFUSED_NANOS;
    }

    private synchronized Reservation add(Local local, Reservation reservation, Peer peer) {
        Pool pool = pools.computeIfAbsent(local, key -> new Pool());
        Shared made = new Shared(reservation);
        made.index = pool.ports.size();
        pool.ports.add(made);
        pool.refused = false;
        return use(local, pool, made, peer);
    }

    /** From a random one on, so that the port cannot be guessed (RFC 6056 section 3.3.1). */
    private synchronized Reservation share(Local local, Peer peer, boolean refused) {
        Pool pool = pools.get(local);
        if (pool == null) {
            return null;
        }
        if (refused) {
            pool.refused = true;
            pool.refusedNanos = System.nanoTime();
        }
        int count = pool.ports.size();
        if (count == 0 || pool.usersByPeer.getOrDefault(peer, 0) == count) {
            return null;
        }
        int first = ThreadLocalRandom.current().nextInt(count);
        for (int i = 0; i < count; i++) {
            Shared shared = pool.ports.get((first + i) % count);
            if (!shared.peers.contains(peer)) {
                return use(local, pool, shared, peer);
            }
        }
        return null;
    }

    private Reservation use(Local local, Pool pool, Shared shared, Peer peer) {
        shared.peers.add(peer);
        pool.usersByPeer.merge(peer, 1, Integer::sum);
        return new Reservation(shared.reservation.port, () -> leave(local, pool, shared, peer));
    }

    private synchronized void leave(Local local, Pool pool, Shared shared, Peer peer) {
        if (!shared.peers.remove(peer)) {
            return;
        }
        pool.usersByPeer.computeIfPresent(peer, (key, users) -> users == 1 ? null : users - 1);
        if (!shared.peers.isEmpty()) {
            return;
        }
        Shared last = pool.ports.removeLast();
        if (last != shared) {
            last.index = shared.index;
            pool.ports.set(shared.index, last);
        }
        pool.refused = false;
        if (pool.ports.isEmpty()) {
            pools.remove(local, pool);
        }
        shared.reservation.close();
    }
}
