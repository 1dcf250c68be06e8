package io.rdmaraw.host.userspace;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.rdmaraw.host.BoundPort;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.LinkTcpNetwork;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.net.IcmpError;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.wire.IpProtocol;

import java.io.IOException;
import java.util.concurrent.Executor;

/** The network of a userspace host for one loop's TCP: the kernel has no part in it. */
public final class UserspaceTcpNetwork extends LinkTcpNetwork {
    private final UserspaceIpHost host;
    private PortOwner stack;

    public UserspaceTcpNetwork(String deviceName, UserspaceIpHost host, IpContext hostView, EventLoop loop)
            throws IOException {
        super(deviceName, host, hostView, loop);
        this.host = host;
    }

    @Override
    public void joined(PortOwner joining) {
        stack = joining;
        host.add(joining);
    }

    @Override
    public void left(PortOwner leaving) {
        host.remove(leaving);
    }

    @Override
    protected Port takePort(IpAddress local, int port, PortSharing sharing) throws IOException {
        BoundPort bound = host.listen(local, port, sharing, new Unsteered(host, stack));
        return new Port(bound.port(), bound.use(), () -> host.unbind(bound));
    }

    @Override
    protected Port takePort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException {
        BoundPort bound = host.bind(IpProtocol.TCP, local, false, port, PortSharing.NONE,
                new Unsteered(host, stack));
        BoundPort connected = host.connect(bound, local, remote, remotePort);
        return new Port(connected.port(), null, () -> host.unbind(connected));
    }

    @Override
    protected String elsewhere(IpAddress remote) {
        return remote + " is this host's own address, which is reached from other hosts only";
    }

    @Override
    public boolean isKernelServed() {
        return false;
    }

    /** What came for a port by no rule of its own. */
    record Unsteered(UserspaceIpHost host, PortOwner stack) implements PortOwner {
        @Override
        public Executor loop() {
            return stack.loop();
        }

        @Override
        public void receiveUnsteered(ByteBuf frame, boolean checksumVerified) {
            stack.receiveUnsteered(frame, checksumVerified);
        }

        @Override
        public void receiveReassembled(ByteBuf packet, IpAddress source, IpAddress destination) {
            stack.receiveReassembled(packet, source, destination);
        }

        /** All stacks hear of it: the connection may be on any. */
        @Override
        public void icmpError(IcmpError error) {
            host.tellStacks(error);
        }
    }
}
