package io.rdmaraw.route;

import java.net.BindException;
import java.net.SocketException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * The host behind a loop device: it has {@code 127.0.0.0/8} and {@code ::1}, and knows which of the process's endpoints
 * has which port. Looking up where a packet goes plays the part of route and neighbour tables.
 *
 * <p>The default loop device stands beside the kernel's own loopback and therefore also carries the host's own
 * addresses; a named loop device ({@code soft:loop:NAME}) is a host by itself. Thread-safe; lookups take no lock.
 */
public final class LoopHost {
    /** The device whose host is the one the process runs on. */
    public static final String KERNEL_HOST_DEVICE = "soft:loop";

    /** Tells whether a device is a loop device. */
    public static boolean isLoopDevice(String deviceName) {
        return deviceName.equals(KERNEL_HOST_DEVICE) || deviceName.startsWith(KERNEL_HOST_DEVICE + ':');
    }
    /** Linux's default range for ports that the system chooses. */
    private static final int FIRST_EPHEMERAL_PORT = 32768;
    private static final int LAST_EPHEMERAL_PORT = 60999;
    /** Locally administered, unicast. */
    private static final long MAC_PREFIX = 0x0e00_0000_0000L;
    private static final LoopEndpoint[] NO_ENDPOINTS = {};
    private static final Map<String, LoopHost> HOSTS = new ConcurrentHashMap<>();
    private static final AtomicLong MAC_COUNT = new AtomicLong();

    private final boolean kernelHost;
    private final Predicate<IpAddress> addresses;
    private final RandomGenerator random;
    private final LoopPorts ports = new LoopPorts();
    private final Set<IpAddress> furtherAddresses = ConcurrentHashMap.newKeySet();
    private volatile long generation;

    private LoopHost(Predicate<IpAddress> addresses, RandomGenerator random) {
        kernelHost = false;
        this.addresses = addresses;
        this.random = random;
    }

    /** Returns a host that has other addresses than the loopback's, for the sake of its ports. */
    public static LoopHost with(Predicate<IpAddress> addresses) {
        return new LoopHost(addresses, new SecureRandom());
    }

    LoopHost(boolean kernelHost, RandomGenerator random) {
        addresses = address -> address.isLoopback() || kernelHost && isKernelAddress(address);
        this.kernelHost = kernelHost;
        this.random = random;
    }

    /** Returns the host behind a loop device; there is one per device name and process. */
    public static LoopHost of(String deviceName) {
        return HOSTS.computeIfAbsent(deviceName,
                name -> new LoopHost(KERNEL_HOST_DEVICE.equals(name), new SecureRandom()));
    }

    /** Tells whether this is the host that the process runs on, so that the kernel has sockets on it too. */
    public boolean isKernelHost() {
        return kernelHost;
    }

    /** Returns a number that changes whenever {@link #find} may give another answer. */
    public long generation() {
        return generation;
    }

    /** Gives the host a further address. */
    public void addAddress(IpAddress address) {
        furtherAddresses.add(address);
    }

    /** Tells whether packets to the address stay on this host. */
    public boolean isLocal(IpAddress address) {
        return addresses.test(address) || furtherAddresses.contains(address);
    }

    private static boolean isKernelAddress(IpAddress address) {
        try {
            return HostInterfaces.withAddress(address.toInetAddress()) != null;
        } catch (SocketException e) {
            return false;
        }
    }

    /** Returns the address that packets to a local destination come from. */
    public IpAddress sourceFor(IpAddress destination) {
        if (!destination.isLoopback()) {
            return destination;
        }
        return destination.isIpv4() ? IpAddress.LOOPBACK_IPV4 : IpAddress.LOOPBACK_IPV6;
    }

    /**
     * Binds a port.
     *
     * @param port the port, 0 for a free one
     * @throws BindException when the address is not this host's or the port is taken
     */
    public LoopEndpoint bind(int protocol, IpAddress local, boolean dualStack, int port, PortSharing sharing)
            throws BindException {
        return bind(protocol, newMac(), local, dualStack, port, sharing);
    }

    /**
     * Binds a port under a MAC address that endpoints may share whose frames go to the same queue.
     *
     * @param mac of {@link #newMac()}
     * @param port the port, 0 for a free one
     * @throws BindException when the address is not this host's or the port is taken
     */
    public synchronized LoopEndpoint bind(int protocol, long mac, IpAddress local, boolean dualStack, int port,
                                          PortSharing sharing) throws BindException {
        if (!local.isAny() && !local.isMulticast() && !local.equals(IpAddress.BROADCAST) && !isLocal(local)) {
            throw new BindException("Cannot assign requested address: " + local + " is not an address of this host");
        }
        if (port != 0) {
            LoopEndpoint endpoint = new LoopEndpoint(protocol, mac, local, dualStack, port, null, 0, sharing);
            if (!isFree(endpoint)) {
                throw new BindException("Address already in use: " + local + " port " + port);
            }
            return add(endpoint);
        }
        return add(new LoopEndpoint(protocol, mac, local, dualStack, freePort(protocol), null, 0, sharing));
    }

    /**
     * Has another queue take part in a bound port: flows are spread over both.
     *
     * @param mac of {@link #newMac()}, the other queue's
     */
    public synchronized LoopEndpoint share(LoopEndpoint bound, long mac) {
        return add(new LoopEndpoint(bound.protocol(), mac, bound.local(), bound.dualStack(), bound.port(), null, 0,
                bound.sharing()));
    }

    /** Returns a MAC address that no endpoint of the process has. */
    public static long newMac() {
        return MAC_PREFIX | MAC_COUNT.incrementAndGet();
    }

    /** A port that the system chooses is shared with nobody who has it already, whatever the endpoint allows. */
    private int freePort(int protocol) throws BindException {
        int count = LAST_EPHEMERAL_PORT - FIRST_EPHEMERAL_PORT + 1;
        // RFC 6056 section 3.3.1: random start, then in sequence; from a generator whose state nobody finds out by
        // what it has given (section 3.4).
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

    private boolean isFree(LoopEndpoint wanted) {
        for (LoopEndpoint other : ports.get(wanted.protocol(), wanted.port())) {
            if (other.overlaps(wanted) && !other.sharing().agreesWith(wanted.sharing())) {
                return false;
            }
        }
        return true;
    }

    private LoopEndpoint add(LoopEndpoint endpoint) {
        LoopEndpoint[] before = ports.get(endpoint.protocol(), endpoint.port());
        LoopEndpoint[] after = Arrays.copyOf(before, before.length + 1);
        after[before.length] = endpoint;
        publish(endpoint, after);
        return endpoint;
    }

    private void publish(LoopEndpoint changed, LoopEndpoint[] endpoints) {
        ports.set(changed.protocol(), changed.port(), endpoints);
        generation++;
    }

    /**
     * Connects an endpoint, or disconnects it with a null peer.
     *
     * @return the endpoint that stands in its place
     */
    public synchronized LoopEndpoint connect(LoopEndpoint endpoint, IpAddress local, IpAddress remoteOrNull,
                                             int remotePort) {
        LoopEndpoint connected = endpoint.with(local, remoteOrNull, remotePort);
        LoopEndpoint[] after = ports.get(endpoint.protocol(), endpoint.port()).clone();
        for (int i = 0; i < after.length; i++) {
            if (after[i].mac() == endpoint.mac()) {
                after[i] = connected;
            }
        }
        publish(endpoint, after);
        return connected;
    }

    /** Gives the port back; nothing happens if that was done before. */
    public synchronized void close(LoopEndpoint endpoint) {
        LoopEndpoint[] before = ports.get(endpoint.protocol(), endpoint.port());
        if (before.length == 1) {
            // As that of nearly every connection.
            if (isSame(before[0], endpoint)) {
                publish(endpoint, NO_ENDPOINTS);
            }
            return;
        }
        List<LoopEndpoint> rest = new ArrayList<>(Arrays.asList(before));
        if (rest.removeIf(other -> isSame(other, endpoint))) {
            publish(endpoint, rest.toArray(LoopEndpoint[]::new));
        }
    }

    private static boolean isSame(LoopEndpoint bound, LoopEndpoint endpoint) {
        return bound.mac() == endpoint.mac() && bound.local().equals(endpoint.local());
    }

    /** Returns the endpoint that a unicast packet is for, or null if there is none. */
    public LoopEndpoint find(int protocol, IpAddress source, int sourcePort, IpAddress destination,
                             int destinationPort) {
        LoopEndpoint best = null;
        int bestScore = -1;
        int equals = 0;
        for (LoopEndpoint endpoint : ports.get(protocol, destinationPort)) {
            int score = endpoint.score(source, sourcePort, destination);
            if (score < 0 || score < bestScore) {
                continue;
            }
            equals = score == bestScore ? equals + 1 : 1;
            bestScore = score;
            // Of equals, the hash of the flow chooses, but with SO_REUSEADDR the one bound last receives.
            if (equals == 1 || endpoint.sharing().reuseAddress() && !endpoint.sharing().reusePort()
                    || choice(source, sourcePort, equals) == 0) {
                best = endpoint;
            }
        }
        return best;
    }

    /** Takes the n-th of equal endpoints with a chance of 1/n, always the same for the same flow. */
    private static int choice(IpAddress source, int sourcePort, int n) {
        long mixed = (source.hashCode() * 31L + sourcePort + (long) n << 32) * 0x9e37_79b9_7f4a_7c15L;
        return (int) Long.remainderUnsigned(mixed >>> 32, n);
    }
}
