package io.rdmaraw.channel;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.AddressedEnvelope;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.util.IllegalReferenceCountException;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.DatagramNetwork;
import io.rdmaraw.host.DatagramPath;
import io.rdmaraw.host.KernelSocket;
import io.rdmaraw.host.PathCache;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.NotYetConnectedException;

/**
 * Sends the messages of a datagram channel's outbound buffer in bursts. A message of several segments may need more
 * than one burst; what has been sent of it is remembered. For the loop's thread.
 */
final class DatagramSender implements ChannelOutboundBuffer.MessageProcessor {
    private final RdmaRawDatagramChannel channel;
    private final RdmaRawDatagramStatistics statistics;
    private final DatagramInbox inbox;
    private final DatagramReceiver receiver;
    private final DatagramNetwork network;
    private final KernelSocket kernel;
    /** Found on the channel's loop, and of no use on another: they keep the next hops of their own loop fresh. */
    private PathCache paths = new PathCache();
    private final Throwable[] failures = new Throwable[FrameQueue.BURST_FRAMES + 1];
    /** What the outbound buffer holds of the burst's messages. */
    private final Object[] finishedMessages = new Object[FrameQueue.BURST_FRAMES];
    private final byte[] messageOfFrame = new byte[FrameQueue.BURST_FRAMES];
    private DatagramWriter writer;
    private int finished;
    private int frames;
    /** How much of the oldest message has been sent. */
    private int sentBytes;

    DatagramSender(RdmaRawDatagramChannel channel, DatagramNetwork network, KernelSocket kernel, DatagramInbox inbox,
                   DatagramReceiver receiver) {
        this.channel = channel;
        this.network = network;
        this.kernel = kernel;
        this.inbox = inbox;
        this.receiver = receiver;
        statistics = channel.statistics();
    }

    /** The channel sends by this queue from now on. */
    void moveTo(DeviceQueue port) {
        writer = new DatagramWriter(port.queue(), port.limits().mtuBytes(), channel.config());
        paths = new PathCache();
    }

    /**
     * Sends what fits into a burst and takes the messages that are done out of the buffer.
     *
     * @return false when nothing could be sent because there is no room
     */
    boolean sendBurst(ChannelOutboundBuffer in) {
        finished = 0;
        frames = 0;
        try {
            in.forEachFlushedMessage(this);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        if (frames > 0) {
            noteRefused(writer.queue().post(), writer.queue().refusalErrno());
        }
        int done = finished;
        for (int i = 0; i < done; i++) {
            Throwable failure = failures[i];
            failures[i] = null;
            Object message = finishedMessages[i];
            finishedMessages[i] = null;
            AbstractRdmaRawChannel.complete(in, message, failure);
        }
        if (done > 0) {
            // What the burst could not finish is now the oldest message.
            failures[0] = failures[done];
            failures[done] = null;
        }
        if (done < finishedMessages.length) {
            finishedMessages[done] = null;
        }
        return done > 0 || frames > 0 || writer.queue().reclaim() > 0;
    }

    private void noteRefused(long refused, int errno) {
        for (long rest = refused; rest != 0; rest &= rest - 1) {
            failures[messageOfFrame[Long.numberOfTrailingZeros(rest)]] = SendRefusedException.of(errno);
        }
    }

    @Override
    public boolean processMessage(Object msg) {
        if (finished == FrameQueue.BURST_FRAMES) {
            return false;
        }
        finishedMessages[finished] = msg;
        IOException error = sentBytes == 0 ? inbox.takeError() : null;
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
            failures[finished] = failureOrNull;
        }
        finished++;
        sentBytes = 0;
        return true;
    }

    /** Returns whether the message is done, so that the next may follow. */
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

    /** Members on this host are reached within it, others beyond it, if the user lets datagrams go there. */
    private boolean reachesMembers() {
        return network.isWithinHost() ? !channel.config().isLoopbackModeDisabled()
                : channel.config().getTimeToLive() > 0;
    }

    private boolean sendDatagram(DatagramPath path, ByteBuf content, int index, int lengthBytes) {
        switch (path.kind()) {
            case KERNEL -> {
                statistics.sentToKernel++;
                Throwable failure = kernel.send(content, index, lengthBytes, path.destination());
                if (failure != null) {
                    failures[finished] = failure;
                }
            }
            case UNRESOLVED -> channel.hostView().awaitNeighbor(new PendingDatagram(channel, path,
                    PooledByteBufAllocator.DEFAULT.directBuffer(lengthBytes).writeBytes(content, index, lengthBytes)));
            case PORT_UNREACHABLE -> receiver.reportPortUnreachable();
            case SELF -> {
                statistics.sentToSelf++;
                if (!network.handOver(path, content, index, lengthBytes)) {
                    receiver.reportPortUnreachable();
                }
            }
            case DEVICE -> {
                int written = writer.write(path, content, index, lengthBytes);
                if (written == 0) {
                    return false;
                }
                for (int i = 0; i < written; i++) {
                    messageOfFrame[frames++] = (byte) finished;
                }
                path.touch();
                countSent(written, lengthBytes);
            }
        }
        return true;
    }

    /** Sends a datagram that had to wait for its next hop's address; it is lost when there is no room. */
    void sendResolved(DatagramPath path, ByteBuf content) {
        int written = writer.write(path, content, content.readerIndex(), content.readableBytes());
        if (written == 0 || writer.queue().post() != 0) {
            statistics.droppedUnresolved++;
        } else {
            countSent(written, content.readableBytes());
        }
        content.release();
    }

    private void countSent(int frameCount, int lengthBytes) {
        statistics.sentFragments += frameCount > 1 ? frameCount : 0;
        statistics.sentDatagrams++;
        statistics.sentBytes += lengthBytes;
    }

    /** A router does not let packets to a destination pass that are longer; what is sent from now on is cut up. */
    void pathTooBig(IpAddress destination, int mtuBytes) {
        channel.hostView().pathMtus().learned(destination, mtuBytes, System.nanoTime());
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
