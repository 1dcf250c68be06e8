package io.rdmaraw.tcp.stack;

import io.rdmaraw.tcp.CloseReason;
import io.rdmaraw.wire.IcmpErrorKind;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.Locale;

/** Maps the reasons for the end of a connection to the exceptions and messages of ordinary sockets. */
public final class StreamErrors {
    private static final String NETWORK_DOWN =
            "Network is down: the device of the connection has failed or was removed";

    private StreamErrors() {
    }

    /**
     * Returns the exception for a failed connection attempt.
     *
     * @param softError the last ICMP error about an unacknowledged packet, or null
     */
    public static IOException ofConnect(CloseReason reason, IcmpErrorKind softError) {
        return switch (reason) {
            case TIMED_OUT -> softError == null ? new ConnectException("Connection timed out") : timedOut(softError);
            case UNREACHABLE -> new NoRouteToHostException("No route to host");
            case ABORTED, FINISHED -> new SocketException("Connection closed");
            case DEVICE_REMOVED -> new SocketException(NETWORK_DOWN);
            default -> new ConnectException("Connection refused");
        };
    }

    /**
     * Returns the exception for the end of an open connection; null if it was closed normally.
     *
     * @param softError the last ICMP error about an unacknowledged packet, or null
     */
    public static IOException ofClose(CloseReason reason, IcmpErrorKind softError) {
        return switch (reason) {
            case RESET_BY_PEER, REFUSED -> new SocketException("Connection reset by peer");
            case TIMED_OUT -> softError == null ? new SocketException("Connection timed out") : timedOut(softError);
            case UNREACHABLE -> new NoRouteToHostException("No route to host");
            case DEVICE_REMOVED -> new SocketException(NETWORK_DOWN);
            case FINISHED, ABORTED, DATA_AFTER_CLOSE -> null;
            case WRITTEN_BUFFER_RELEASED -> new SocketException("Connection aborted: a handler released a ByteBuf"
                    + " after write(), before the peer had acknowledged its bytes. write() passes the ByteBuf to the"
                    + " channel, which releases it");
        };
    }

    /** Returns the exception for a connection that ended with its loop, after its channel had left that loop. */
    static IOException ofEndOfLoop() {
        return new SocketException("Software caused connection abort: the event loop of the connection has ended after"
                + " the channel had left it");
    }

    /**
     * Returns the exception for a timeout after a soft error. RFC 1122 section 4.2.3.9 requires that the user is
     * informed of soft errors. As on Linux, this happens only if the connection then times out.
     */
    private static IOException timedOut(IcmpErrorKind softError) {
        return switch (softError) {
            case HOST_UNREACHABLE, PROHIBITED -> new NoRouteToHostException(
                    "No route to host: the connection timed out, and ICMP reported "
                    + (softError == IcmpErrorKind.PROHIBITED ? "that a filter is in the way" : "host unreachable"));
            case PORT_UNREACHABLE, PROTOCOL_UNREACHABLE -> new ConnectException(
                    "Connection refused: the connection timed out, and ICMP reported port or protocol unreachable");
            case PACKET_TOO_BIG, TIME_EXCEEDED, PARAMETER_PROBLEM -> new SocketException(
                    "Connection timed out, and ICMP reported "
                    + softError.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        };
    }

    /** Returns an error of a kernel socket as an {@link IOException}; other exceptions become its cause. */
    public static IOException toIOException(Throwable cause) {
        return cause instanceof IOException e ? e : new IOException(cause.getMessage(), cause);
    }

    /**
     * Returns an exception of the same kind with the peer's address appended to the message, as Netty's other channels
     * do.
     */
    public static IOException withAddress(IOException cause, InetSocketAddress remote) {
        String message = cause.getMessage() + ": " + remote;
        IOException annotated = switch (cause) {
            case ConnectException refused -> new ConnectException(message);
            case NoRouteToHostException unreachable -> new NoRouteToHostException(message);
            default -> new SocketException(message);
        };
        annotated.initCause(cause);
        return annotated;
    }
}
