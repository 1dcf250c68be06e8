package io.rdmaraw.testsuite.net;

import io.rdmaraw.host.IpHost;
import io.rdmaraw.host.kernel.KernelIpHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.NetworkSnapshot;
import java.util.function.Predicate;

/**
 * Waits until this process has been notified of changes to a host. A thread of the transport reads the kernel's
 * notifications, so its loops do not know a route yet when {@code ip route add} returns.
 */
public final class KnownRoutes {
    private KnownRoutes() {
    }

    /** Waits until the loops know a path to an address. */
    public static void await(NetworkNamespace host, String address) throws Exception {
        await(host, address, path -> true);
    }

    /** Waits until the loops know a path with these properties to an address. */
    public static void await(NetworkNamespace host, String address, Predicate<NetworkSnapshot.Path> properties)
            throws Exception {
        IpHost shared = host.call(KernelIpHost::ofCallingThread);
        IpAddress target = IpAddress.parse(address);
        Await.until("the loops to know the path to " + address, () -> {
            NetworkSnapshot.Path path = shared.snapshot().path(target, 0);
            return path != null && properties.test(path);
        });
    }
}
