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

/** The network of one loop's TCP on a userspace host. The kernel is not involved. */
public final class UserspaceTcpNetwork extends LinkTcpNetwork {
    private final UserspaceIpHost host;
    private PortOwner stack;

    public UserspaceTcpNetwork(String deviceName, UserspaceIpHost host, IpContext ipContext, EventLoop loop)
            throws IOException {
        super(deviceName, host, ipContext, loop);
        this.host = host;
    }

    @Override
    public void stackStarted(PortOwner joining) {
        stack = joining;
        host.add(joining);
    }

    @Override
    public void stackStopped(PortOwner leaving) {
        host.remove(leaving);
    }

    @Override
    protected Port bindPort(IpAddress local, int port, PortSharing sharing) throws IOException {
        BoundPort bound = host.listen(local, port, sharing, new StackPortOwner(host, stack));
        return new Port(bound.port(), bound.use(), () -> host.unbind(bound));
    }

    @Override
    protected Port bindPort(IpAddress local, int port, IpAddress remote, int remotePort) throws IOException {
        BoundPort bound = host.bind(IpProtocol.TCP, local, false, port, PortSharing.NONE,
                new StackPortOwner(host, stack));
        BoundPort connected = host.connect(bound, local, remote, remotePort);
        return new Port(connected.port(), null, () -> host.unbind(connected));
    }

    @Override
    protected Port reservePort(IpAddress local, int port) throws IOException {
        BoundPort bound = host.bind(IpProtocol.TCP, local, local.isAny(), port, PortSharing.NONE,
                new StackPortOwner(host, stack));
        return new Port(bound.port(), null, () -> host.unbind(bound));
    }

    @Override
    protected String describeOffLink(IpAddress remote) {
        return remote + " is this host's own address, which is reached from other hosts only";
    }

    @Override
    public boolean isKernelServed() {
        return false;
    }

    /** Receives packets for a port that match no rule of the port. */
    record StackPortOwner(UserspaceIpHost host, PortOwner stack) implements PortOwner {
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

        /** Passes the error to all stacks, because the connection may be on any loop. */
        @Override
        public void onIcmpError(IcmpError error) {
            host.notifyStacks(error);
        }
    }
}
