package io.rdmaraw.host.loopback;

import io.rdmaraw.host.PortTable;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.socket.HostInterfaces;
import io.rdmaraw.verbs.DeviceName;

import java.net.SocketException;
import java.security.SecureRandom;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The host behind a loopback device: it has {@code 127.0.0.0/8} and {@code ::1}, and the ports of the process. A look
 * at the ports takes the place of routes and neighbours: each port has a MAC address of its own, so that several can
 * share a number without a common queue.
 *
 * <p>The default loopback device stands beside the kernel's own loopback and therefore also carries the addresses of
 * this computer; a named one ({@code soft:loop:NAME}) is a host by itself. Thread-safe.
 */
public final class LoopbackHost {
    /** Locally administered, unicast. */
    private static final long MAC_PREFIX = 0x0e00_0000_0000L;
    private static final Map<String, LoopbackHost> HOSTS = new ConcurrentHashMap<>();
    private static final AtomicLong MAC_COUNT = new AtomicLong();

    private final boolean kernelHost;
    private final PortTable ports = new PortTable(this::isLocal, new SecureRandom());
    private final Set<IpAddress> furtherAddresses = ConcurrentHashMap.newKeySet();

    private LoopbackHost(boolean kernelHost) {
        this.kernelHost = kernelHost;
    }

    /** Returns the host behind a loopback device; there is one per device name and process. */
    public static LoopbackHost of(String deviceName) {
        return HOSTS.computeIfAbsent(deviceName,
                name -> new LoopbackHost(DeviceName.HOST_LOOPBACK.equals(name)));
    }

    /** Tells whether this is the host that the process runs on, so that the kernel has sockets on it too. */
    public boolean isKernelHost() {
        return kernelHost;
    }

    /** Returns the ports; the id of each is the MAC address that frames for it go to. */
    public PortTable ports() {
        return ports;
    }

    /** Gives the host a further address. */
    public void addAddress(IpAddress address) {
        furtherAddresses.add(address);
    }

    /** Tells whether packets to the address stay on this host. */
    public boolean isLocal(IpAddress address) {
        return address.isLoopback() || kernelHost && isKernelAddress(address) || furtherAddresses.contains(address);
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

    /** Returns a MAC address that no port of the process has. */
    public static long newMac() {
        return MAC_PREFIX | MAC_COUNT.incrementAndGet();
    }
}
