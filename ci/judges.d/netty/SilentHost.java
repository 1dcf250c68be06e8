// SPDX-License-Identifier: Apache-2.0
package io.rdmaraw.judge;

import io.netty.util.internal.SystemPropertyUtil;
import io.rdmaraw.host.loopback.LoopbackHost;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.wire.IpProtocol;

import java.net.BindException;
import java.net.InetAddress;

/** The address of Netty's testsuite that never answers. In the network of a loop device no packet gets lost. */
public final class SilentHost {
    private SilentHost() {
    }

    /** Adds the address to the host in memory. A port that no channel reads takes its frames. */
    public static void add() {
        LoopbackHost host = LoopbackHost.of(DeviceName.HOST_LOOPBACK);
        String name = SystemPropertyUtil.get("io.netty.testsuite.badHost", "198.51.100.254");
        int port = SystemPropertyUtil.getInt("io.netty.testsuite.badPort", 65535);
        IpAddress address = IpAddress.of(InetAddress.ofLiteral(name));
        host.addAddress(address);
        try {
            host.ports().bind(IpProtocol.TCP, LoopbackHost.newMac(), address, false, port, PortSharing.NONE, null);
        } catch (BindException e) {
            throw new IllegalStateException(e);
        }
    }
}
