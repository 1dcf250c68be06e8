package io.rdmaraw.host;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.loop.LoopDescriptors;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.PortSharing;
import io.rdmaraw.net.socket.KernelUdpSocket;
import io.rdmaraw.net.socket.NumberedOptions;
import io.rdmaraw.net.socket.SocketErrorQueue;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * The kernel socket of a channel's port, served by the channel's loop. It reserves the port against other programs and
 * carries the datagrams that the device cannot send or receive. Used on the loop's thread only. {@link #close()} may
 * also be called while the channel is not registered with a loop.
 */
public final class KernelSocket implements LoopDescriptors.Handler {
    /** Maximum number of datagrams received before the loop polls its queues again. */
    private static final int MAX_DATAGRAMS_PER_POLL = 16;

    /** Receives datagrams and errors from the kernel socket. */
    public interface Receiver {
        /** Receives a datagram and takes its reference. */
        void onKernelDatagram(ByteBuf content, InetSocketAddress sender);

        /** Called when all available datagrams have been received. */
        void onKernelReadComplete();

        /** Called if the send buffer was full and may have room again. */
        void onKernelSendRoom();

        /** Reports an error from the socket's error queue, for example an unreachable port of the peer. */
        void onKernelError(SocketErrorQueue.Entry error);
    }

    private final Receiver receiver;
    private final boolean ipv4Only;
    private IpContext ipContext;
    private LoopDescriptors descriptors;
    private KernelUdpSocket socket;
    private boolean connected;
    /** Set while the send buffer is full. */
    private boolean full;

    public KernelSocket(Receiver receiver, boolean ipv4Only) {
        this.receiver = receiver;
        this.ipv4Only = ipv4Only;
    }

    /** Registers the socket with a loop, because its owner has been registered there. */
    public void joinLoop(IpContext newContext, LoopDescriptors newDescriptors) {
        ipContext = newContext;
        descriptors = newDescriptors;
        if (socket != null) {
            descriptors.add(socket.fd(), this);
            if (full) {
                descriptors.watchWrites(socket.fd(), this, true);
            }
        }
    }

    /** Removes the socket from the loop, because its owner has been deregistered. */
    public void leaveLoop() {
        if (socket != null && descriptors != null) {
            descriptors.remove(socket.fd(), this);
        }
        descriptors = null;
        ipContext = null;
    }

    /**
     * Opens and binds the socket. Returns the port number.
     *
     * @param mark {@code SO_MARK} of sent datagrams; 0 if unset
     * @param options options of the socket that are given by number
     */
    public int bind(InetSocketAddress local, PortSharing sharing, int mark, NumberedOptions options)
            throws IOException {
        KernelUdpSocket opened = KernelUdpSocket.open(ipv4Only);
        try {
            if (mark != 0) {
                opened.mark(mark);
            }
            opened.options(options);
            int scope = local.getAddress() instanceof Inet6Address address ? address.getScopeId() : 0;
            int port = opened.bind(IpAddress.of(local.getAddress()), scope, local.getPort(), sharing);
            descriptors.add(opened.fd(), this);
            socket = opened;
            return port;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    /**
     * Sets an option by number. Does nothing if the socket is not open.
     *
     * @throws IOException if the kernel rejects it
     */
    public void setOption(NumberedOptions.Key key, byte[] value) throws IOException {
        if (socket != null) {
            NumberedOptions.set(socket.fd(), key, value);
        }
    }

    /** Connects the socket. Returns the local address that the kernel has selected. */
    public InetAddress connect(InetSocketAddress remote) throws IOException {
        if (connected) {
            disconnect();
        }
        IpAddress local = socket.connect(IpAddress.of(remote.getAddress()), remote.getPort(), scopeOf(remote));
        connected = true;
        return local.toInetAddress();
    }

    public void disconnect() throws IOException {
        if (connected) {
            connected = false;
            socket.disconnect();
        }
    }

    /** Joins or leaves a group, or blocks a source of a group. */
    public void changeGroup(GroupChange change, int linkIndex) throws IOException {
        switch (change.kind()) {
            case JOIN -> socket.changeMembership(true, change.group(), linkIndex, change.sourceOrNull());
            case LEAVE -> socket.changeMembership(false, change.group(), linkIndex, change.sourceOrNull());
            case BLOCK -> socket.blockSource(change.group(), linkIndex, change.sourceOrNull());
        }
    }

    private static int scopeOf(InetSocketAddress address) {
        return address.getAddress() instanceof Inet6Address ipv6 ? ipv6.getScopeId() : 0;
    }

    /** Returns whether the send buffer is full. {@link Receiver#onKernelSendRoom} is called when it has room again. */
    public boolean isSendBufferFull() {
        return full;
    }

    /**
     * Sends a datagram. Returns the error; null on success and if the send buffer is full, see
     * {@link #isSendBufferFull}.
     *
     * @param index start of the datagram in the content; the caller retains the reference of the content
     */
    public IOException send(ByteBuf content, int index, int lengthBytes, InetSocketAddress destination) {
        if (full) {
            return null;
        }
        IpAddress target = IpAddress.of(destination.getAddress());
        long buffer = ipContext.kernelBuffer().copyIn(content, index, lengthBytes);
        int errno = sendNow(buffer, lengthBytes, target, destination);
        if (errno != 0 && errno != Errno.EAGAIN) {
            // The socket may have reported a pending error of an earlier datagram. The error queue contains that error,
            // too.
            errno = sendNow(buffer, lengthBytes, target, destination);
        }
        if (errno == Errno.EAGAIN) {
            full = true;
            descriptors.watchWrites(socket.fd(), this, true);
            return null;
        }
        return errno == 0 ? null : KernelUdpSocket.failure(errno, target, destination.getPort());
    }

    private int sendNow(long buffer, int lengthBytes, IpAddress target, InetSocketAddress destination) {
        return socket.send(buffer, lengthBytes, connected ? null : target, destination.getPort(),
                scopeOf(destination));
    }

    @Override
    public void onReady() {
        KernelBuffer buffer = ipContext.kernelBuffer();
        int received = 0;
        for (int i = 0; i < MAX_DATAGRAMS_PER_POLL && socket != null; i++) {
            int lengthBytes = socket.receive(buffer.address(), KernelBuffer.LENGTH_BYTES);
            if (lengthBytes >= 0) {
                received++;
                ByteBuf content = buffer.copyOut(ByteBufAllocator.DEFAULT, lengthBytes);
                receiver.onKernelDatagram(content, ipContext.socketAddresses().get(socket.senderHigh(),
                        socket.senderLow(), socket.senderPort(), socket.senderScope()));
            } else if (lengthBytes == -Errno.EAGAIN) {
                break;
            }
            // Other errors are in the error queue, with more details.
        }
        if (received > 0) {
            receiver.onKernelReadComplete();
        }
        SocketErrorQueue.Entry error;
        while (socket != null && (error = socket.pollError()) != null) {
            receiver.onKernelError(error);
        }
        if (full && socket != null) {
            // The buffer may still be full, because the socket was only readable. The next attempt finds that out.
            full = false;
            descriptors.watchWrites(socket.fd(), this, false);
            receiver.onKernelSendRoom();
        }
    }

    public void close() {
        KernelUdpSocket open = socket;
        if (open != null) {
            if (descriptors != null) {
                descriptors.remove(open.fd(), this);
            }
            socket = null;
            full = false;
            open.close();
        }
    }
}
