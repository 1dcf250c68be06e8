package io.rdmaraw.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.AddressedEnvelope;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.DatagramChannel;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.KernelSocket;
import io.rdmaraw.host.PathCache;
import io.rdmaraw.loop.OutboundMessages;
import io.rdmaraw.memory.ExclusiveContent;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.NotYetConnectedException;

/**
 * Sends the messages of a datagram channel's outbound buffer in bursts. A message of several segments may need several
 * bursts; its progress is stored between them. Used on the loop's thread only.
 */
final class DatagramSender implements ChannelOutboundBuffer.MessageProcessor {
    private final DatagramEndpoint endpoint;
    private final DatagramChannel channel;
    private final DatagramCounters counters;
    private final DatagramSink sink;
    private final DatagramReceiver receiver;
    private final DatagramNetwork network;
    private final KernelSocket kernelSocket;
    /**
     * Paths resolved on the current loop. Replaced when the channel moves, because a path refreshes neighbors of its
     * own loop.
     */
    private PathCache paths = new PathCache();
    private final Throwable[] failures = new Throwable[FrameQueue.MAX_BURST_FRAMES + 1];
    /** Messages of the burst, as stored in the outbound buffer. */
    private final Object[] messagesOfBurst = new Object[FrameQueue.MAX_BURST_FRAMES];
    private final byte[] messageOfFrame = new byte[FrameQueue.MAX_BURST_FRAMES];
    private DatagramWriter writer;
    private int finishedCount;
    private int burstFrames;
    /** Number of bytes of the oldest message that have been sent. */
    private int sentBytes;
    /** Whether the content of the oldest message had no other references when its first segment was sent. */
    private boolean exclusive;

    DatagramSender(DatagramEndpoint endpoint, DatagramNetwork network, KernelSocket kernelSocket, DatagramSink sink,
                   DatagramReceiver receiver) {
        this.endpoint = endpoint;
        this.network = network;
        this.kernelSocket = kernelSocket;
        this.sink = sink;
        this.receiver = receiver;
        channel = endpoint.channel();
        counters = endpoint.counters();
    }

    /** Sets the queue by which the channel sends. */
    void moveTo(DeviceQueue deviceQueue) {
        writer = new DatagramWriter(deviceQueue.frameQueue(), deviceQueue.limits().mtuBytes(), endpoint.settings());
        paths = new PathCache();
    }

    /**
     * Sends messages that fit into a burst and removes completed messages from the buffer.
     *
     * @return false if the queue has no room for any message
     */
    boolean sendBurst(ChannelOutboundBuffer in) {
        finishedCount = 0;
        burstFrames = 0;
        try {
            in.forEachFlushedMessage(this);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        if (burstFrames > 0) {
            recordRefused(writer.frameQueue().post(), writer.frameQueue().refusalErrno());
        }
        int done = finishedCount;
        for (int i = 0; i < done; i++) {
            Throwable failure = failures[i];
            failures[i] = null;
            Object message = messagesOfBurst[i];
            messagesOfBurst[i] = null;
            OutboundMessages.complete(in, message, failure);
        }
        if (done > 0) {
            // The unfinished message of this burst is the oldest message of the next one.
            failures[0] = failures[done];
            failures[done] = null;
        }
        if (done < messagesOfBurst.length) {
            messagesOfBurst[done] = null;
        }
        return done > 0 || burstFrames > 0 || writer.frameQueue().reclaim() > 0;
    }

    private void recordRefused(long refusedMask, int errno) {
        for (long rest = refusedMask; rest != 0; rest &= rest - 1) {
            failures[messageOfFrame[Long.numberOfTrailingZeros(rest)]] = endpoint.owner().sendFailure(errno);
        }
    }

    @Override
    public boolean processMessage(Object msg) {
        if (finishedCount == FrameQueue.MAX_BURST_FRAMES) {
            return false;
        }
        messagesOfBurst[finishedCount] = msg;
        IOException error = sentBytes == 0 ? sink.pollError() : null;
        if (error != null) {
            return finish(error);
        }
        try {
            if (msg instanceof AddressedEnvelope<?, ?> envelope) {
                return send((ByteBuf) envelope.content(), (InetSocketAddress) envelope.recipient(),
                        (InetSocketAddress) envelope.sender(), DatagramSegments.segmentBytes(msg));
            }
            return send((ByteBuf) msg, null, null, 0);
        } catch (IOException | NotYetConnectedException | IllegalReferenceCountException e) {
            return finish(e);
        }
    }

    private boolean finish(Throwable failureOrNull) {
        if (failureOrNull != null) {
            failures[finishedCount] = failureOrNull;
        }
        finishedCount++;
        sentBytes = 0;
        return true;
    }

    /** Sends a message or continues to send it. Returns false if there is no room. */
    private boolean send(ByteBuf content, InetSocketAddress recipientOrNull, InetSocketAddress senderOrNull,
                         int segmentBytes) throws IOException {
        InetSocketAddress recipient = recipientOrNull != null ? recipientOrNull : channel.remoteAddress();
        if (recipient == null) {
            throw new NotYetConnectedException();
        }
        if (content.refCnt() == 0) {
            throw new IllegalReferenceCountException(0);
        }
        DatagramPath path = pathTo(recipient, senderOrNull);
        int totalBytes = content.readableBytes();
        int datagramBytes = segmentBytes > 0 ? Math.min(segmentBytes, totalBytes) : totalBytes;
        writer.check(path, datagramBytes);
        if (path.isMulticast() && !reachesMembers()) {
            return finish(null);
        }
        do {
            int lengthBytes = Math.min(datagramBytes, totalBytes - sentBytes);
            if (!sendDatagram(path, content, content.readerIndex() + sentBytes, lengthBytes)) {
                return false;
            }
            sentBytes += lengthBytes;
        } while (sentBytes < totalBytes);
        return finish(null);
    }

    /**
     * Returns whether a multicast datagram can reach members: on this host if loopback is enabled, on other hosts if
     * the hop limit is not 0.
     */
    private boolean reachesMembers() {
        return network.isWithinHost() ? endpoint.settings().isMulticastLoop()
                : endpoint.settings().multicastHops() > 0;
    }

    private boolean sendDatagram(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        switch (path.kind()) {
            case KERNEL -> {
                // Before sending: the reply may arrive before the next statement.
                counters.sentByKernel++;
                Throwable failure = kernelSocket.send(content, index, lengthBytes, path.destination());
                if (kernelSocket.isSendBufferFull()) {
                    counters.sentByKernel--;
                    return false;
                }
                if (failure != null) {
                    failures[finishedCount] = failure;
                }
            }
            case UNRESOLVED -> endpoint.ipContext().sendWhenResolved(new PendingDatagram(endpoint, path,
                    PooledByteBufAllocator.DEFAULT.directBuffer(lengthBytes).writeBytes(content, index, lengthBytes)));
            case PORT_UNREACHABLE -> receiver.reportPortUnreachable(path);
            case SELF -> {
                counters.sentToSelf++;
                if (!network.deliverLocally(path, content, index, lengthBytes)) {
                    receiver.reportPortUnreachable(path);
                }
            }
            case DEVICE -> {
                if (sentBytes == 0) {
                    exclusive = ExclusiveContent.isExclusive(content, content.readableBytes());
                }
                int written = writer.write(path, content, index, lengthBytes, exclusive);
                if (written == 0) {
                    return false;
                }
                for (int i = 0; i < written; i++) {
                    messageOfFrame[burstFrames++] = (byte) finishedCount;
                }
                path.touch();
                countSent(written, lengthBytes);
            }
        }
        return true;
    }

    /** Sends a datagram that has waited for the MAC address of its next hop. Drops it if there is no room. */
    void sendResolved(DatagramPath path, ByteBuf content) {
        int written = writer.write(path, content, content.readerIndex(), content.readableBytes(), true);
        if (written == 0 || writer.frameQueue().post() != 0) {
            counters.droppedUnresolved++;
        } else {
            countSent(written, content.readableBytes());
        }
        content.release();
    }

    private void countSent(int frameCount, int lengthBytes) {
        counters.sentFragments += frameCount > 1 ? frameCount : 0;
        counters.sentDatagrams++;
        counters.sentBytes += lengthBytes;
    }

    /** Applies the MTU reported by a router. Later datagrams to this destination are fragmented accordingly. */
    void reducePathMtu(IpAddress destination, int mtuBytes) {
        endpoint.ipContext().pathMtus().recordMtu(destination, mtuBytes, System.nanoTime());
        paths.forget(destination);
    }

    private DatagramPath pathTo(InetSocketAddress recipient, InetSocketAddress senderOrNull) throws IOException {
        if (senderOrNull != null && !senderOrNull.getAddress().isAnyLocalAddress()
                && channel.localAddress().getAddress().isAnyLocalAddress()) {
            return network.resolve(recipient, senderOrNull);
        }
        long generation = network.generation();
        DatagramPath path = paths.find(recipient, generation);
        if (path == null) {
            path = network.resolve(recipient, null);
            paths.add(path, generation);
        }
        return path;
    }
}
