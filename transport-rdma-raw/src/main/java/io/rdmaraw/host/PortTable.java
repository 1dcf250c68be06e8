package io.rdmaraw.host;

import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.wire.IpProtocol;

import java.net.BindException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * The TCP and UDP ports of a host that exists only in this process: the host behind a loopback device or a userspace
 * host. Thread-safe; lookups are lock-free.
 */
public final class PortTable {
    /** Linux's default range of ephemeral ports. */
    private static final int FIRST_EPHEMERAL_PORT = 32768;
    private static final int LAST_EPHEMERAL_PORT = 60999;
    private static final BoundPort[] NONE = {};

    private final Predicate<IpAddress> isLocal;
    private final RandomGenerator random;
    private final PortPages ports = new PortPages();
    private volatile long generation;

    /**
     * @param isLocal tests whether the host has an address
     * @param random selects ports; its output must not reveal its state (RFC 6056 section 3.4)
     */
    public PortTable(Predicate<IpAddress> isLocal, RandomGenerator random) {
        this.isLocal = isLocal;
        this.random = random;
    }

    /** Returns a number that changes whenever the result of {@link #find} may change. */
    public long generation() {
        return generation;
    }

    /**
     * Binds a port.
     *
     * @param id see {@link BoundPort#id}
     * @param port the port; 0 selects a free one
     * @param ownerOrNull see {@link BoundPort#ownerOrNull}
     * @throws BindException if the address is not local or the port is in use
     */
    public BoundPort bind(int protocol, long id, IpAddress local, boolean dualStack, int port,
            PortSharing sharing, PortOwner ownerOrNull) throws BindException {
        return bind(protocol, id, local, dualStack, port, sharing, ownerOrNull, new PortUse(false));
    }

    /**
     * Binds a TCP port for a listener. A port that is used only by connections of earlier listeners counts as free.
     *
     * @param id see {@link BoundPort#id}
     * @param port the port; 0 selects a free one
     * @param sharing {@code SO_REUSEADDR} is ignored
     * @param ownerOrNull see {@link BoundPort#ownerOrNull}
     * @throws BindException if the address is not local or the port is in use
     */
    public BoundPort listen(long id, IpAddress local, int port, PortSharing sharing, PortOwner ownerOrNull)
            throws BindException {
        return bind(IpProtocol.TCP, id, local, local.isAny(), port,
                new PortSharing(false, sharing.reusePort(), sharing.freeBind()), ownerOrNull, new PortUse(true));
    }

    private synchronized BoundPort bind(int protocol, long id, IpAddress local, boolean dualStack, int port,
            PortSharing sharing, PortOwner ownerOrNull, PortUse use) throws BindException {
        if (!sharing.freeBind() && !local.isAny() && !local.isMulticast() && !local.equals(IpAddress.BROADCAST)
                && !isLocal.test(local)) {
            throw SocketErrors.notLocal(local);
        }
        int chosen = port == 0 ? freePort(protocol) : port;
        BoundPort bound = new BoundPort(protocol, id, local, dualStack, chosen, null, 0, sharing, ownerOrNull,
                use);
        if (port != 0 && !isFree(bound)) {
            throw new BindException("Address already in use: " + local + " port " + port);
        }
        return add(bound);
    }

    /** Adds another entry to a shared port number. The hash of a flow selects one of the entries. */
    public synchronized BoundPort share(BoundPort bound, long id) {
        return add(new BoundPort(bound.protocol(), id, bound.local(), bound.dualStack(), bound.port(), null, 0,
                bound.sharing(), bound.ownerOrNull(), bound.use()));
    }

    /** Selects a port without any user, even if its users would share it. */
    private int freePort(int protocol) throws BindException {
        int count = LAST_EPHEMERAL_PORT - FIRST_EPHEMERAL_PORT + 1;
        // RFC 6056 section 3.3.1: start at a random port, then proceed in sequence.
        int start = random.nextInt(count);
        for (int i = 0; i < count; i++) {
            int port = FIRST_EPHEMERAL_PORT + (start + i) % count;
            if (ports.get(protocol, port).length == 0) {
                return port;
            }
        }
        throw new BindException("no port between " + FIRST_EPHEMERAL_PORT + " and " + LAST_EPHEMERAL_PORT
                + " is free; close sockets or bind to a port outside the range");
    }

    private boolean isFree(BoundPort wanted) {
        for (BoundPort other : ports.get(wanted.protocol(), wanted.port())) {
            if (other.overlaps(wanted) && !other.sharing().agreesWith(wanted.sharing())
                    && !other.use().admits(wanted.use())) {
                return false;
            }
        }
        return true;
    }

    private BoundPort add(BoundPort bound) {
        BoundPort[] before = ports.get(bound.protocol(), bound.port());
        BoundPort[] after = Arrays.copyOf(before, before.length + 1);
        after[before.length] = bound;
        publish(bound, after);
        return bound;
    }

    private void publish(BoundPort changed, BoundPort[] all) {
        ports.set(changed.protocol(), changed.port(), all);
        generation++;
    }

    /**
     * Connects a port; a null peer disconnects it.
     *
     * @return the entry that replaces the port's entry
     */
    public synchronized BoundPort connect(BoundPort bound, IpAddress local, IpAddress remoteOrNull, int remotePort) {
        BoundPort connected = bound.with(local, remoteOrNull, remotePort);
        BoundPort[] after = ports.get(bound.protocol(), bound.port()).clone();
        for (int i = 0; i < after.length; i++) {
            if (isSame(after[i], bound)) {
                after[i] = connected;
            }
        }
        publish(bound, after);
        return connected;
    }

    /** Releases a port. Does nothing if it has already been released. */
    public synchronized void unbind(BoundPort bound) {
        BoundPort[] before = ports.get(bound.protocol(), bound.port());
        if (before.length == 1) {
            // Fast path: the port of a connection usually has one user.
            if (isSame(before[0], bound)) {
                publish(bound, NONE);
            }
            return;
        }
        List<BoundPort> rest = new ArrayList<>(Arrays.asList(before));
        if (rest.removeIf(other -> isSame(other, bound))) {
            publish(bound, rest.toArray(BoundPort[]::new));
        }
    }

    private static boolean isSame(BoundPort first, BoundPort second) {
        return first.id() == second.id() && first.use() == second.use();
    }

    /** Returns the port that a unicast packet is delivered to; null if there is none. */
    public BoundPort find(int protocol, IpAddress source, int sourcePort, IpAddress destination, int destinationPort) {
        BoundPort best = null;
        int bestScore = -1;
        int equals = 0;
        for (BoundPort bound : ports.get(protocol, destinationPort)) {
            int score = bound.score(source, sourcePort, destination);
            if (score < 0 || score < bestScore) {
                continue;
            }
            equals = score == bestScore ? equals + 1 : 1;
            bestScore = score;
            // If several ports score equally, the hash of the flow selects one. With SO_REUSEADDR the port bound last
            // receives.
            if (equals == 1 || bound.sharing().reuseAddress() && !bound.sharing().reusePort()
                    || choice(source, sourcePort, equals) == 0) {
                best = bound;
            }
        }
        return best;
    }

    /**
     * Returns 0 with a probability of 1/n, and always the same value for a flow. Applied to each of several equal ports
     * in turn, it selects all of them with the same probability.
     */
    private static int choice(IpAddress source, int sourcePort, int n) {
        long mixed = (source.hashCode() * 31L + sourcePort + (long) n << 32) * 0x9e37_79b9_7f4a_7c15L;
        return (int) Long.remainderUnsigned(mixed >>> 32, n);
    }
}
