package io.rdmaraw.net;

import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/** Parses ICMP and ICMPv6 errors. Not thread-safe. */
public final class IcmpErrorParser {
    /** Codes for filtered packets in RFC 1812 section 5.2.7.1 and RFC 4443 section 3.1. */
    private static final int FIRST_PROHIBITED_CODE = 9;
    private static final int HOST_PROHIBITED_CODE = 10;
    private static final int COMMUNICATION_PROHIBITED_CODE = 13;
    private static final int V6_PROHIBITED_CODE = 1;
    private static final int V6_POLICY_CODE = 5;
    private static final int V6_REJECT_ROUTE_CODE = 6;

    private final FrameParser parser;
    private final ParsedFrame quote = new ParsedFrame();

    /**
     * @param counters counters for the verdicts on quoted packets
     */
    public IcmpErrorParser(ParseCounters counters) {
        parser = new FrameParser(counters);
    }

    /** Returns the error in a parsed ICMP or ICMPv6 message, or null if it contains no relevant error. */
    public IcmpError read(ParsedFrame message) {
        long icmp = message.transportHeaderAddress();
        boolean ipv4 = message.ipVersion() == 4;
        IcmpErrorKind kind = kindOf(message.ipVersion(), IcmpHeader.type(icmp), IcmpHeader.code(icmp));
        if (kind == null) {
            return null;
        }
        int mtuBytes = kind != IcmpErrorKind.PACKET_TOO_BIG ? 0
                : ipv4 ? IcmpHeader.nextHopMtu(icmp) : packetTooBigMtu(icmp);
        return of(kind, mtuBytes, IpAddress.sourceOf(message), parser.parseQuote(message, quote));
    }

    /** Returns the error in an ICMPv6 message without an IP header, or null if it contains no relevant error. */
    public IcmpError readIcmpv6(long icmp, int lengthBytes, IpAddress reporter) {
        IcmpErrorKind kind = lengthBytes < IcmpHeader.LENGTH_BYTES ? null
                : kindOfV6(IcmpHeader.type(icmp), IcmpHeader.code(icmp));
        if (kind == null) {
            return null;
        }
        int mtuBytes = kind == IcmpErrorKind.PACKET_TOO_BIG ? packetTooBigMtu(icmp) : 0;
        return of(kind, mtuBytes, reporter, parser.parseQuote(icmp + IcmpHeader.LENGTH_BYTES,
                lengthBytes - IcmpHeader.LENGTH_BYTES, 6, quote));
    }

    /** Limits the MTU to the range of int. Such a large MTU restricts nothing. */
    private static int packetTooBigMtu(long icmp) {
        return (int) Math.min(IcmpHeader.packetTooBigMtu(icmp), Integer.MAX_VALUE);
    }

    /** Returns the kind of an ICMP (IPv4) or ICMPv6 error; null if the message is no error or an irrelevant one. */
    public static IcmpErrorKind kindOf(int ipVersion, int type, int code) {
        return ipVersion == 4 ? kindOf(type, code) : kindOfV6(type, code);
    }

    static IcmpErrorKind kindOf(int type, int code) {
        return switch (type) {
            case IcmpHeader.UNREACHABLE -> switch (code) {
                case IcmpHeader.CODE_PROTOCOL_UNREACHABLE -> IcmpErrorKind.PROTOCOL_UNREACHABLE;
                case IcmpHeader.CODE_PORT_UNREACHABLE -> IcmpErrorKind.PORT_UNREACHABLE;
                case IcmpHeader.CODE_FRAGMENTATION_NEEDED -> IcmpErrorKind.PACKET_TOO_BIG;
                case FIRST_PROHIBITED_CODE, HOST_PROHIBITED_CODE, COMMUNICATION_PROHIBITED_CODE ->
                        IcmpErrorKind.PROHIBITED;
                default -> IcmpErrorKind.HOST_UNREACHABLE;
            };
            case IcmpHeader.TIME_EXCEEDED -> IcmpErrorKind.TIME_EXCEEDED;
            case IcmpHeader.PARAMETER_PROBLEM -> IcmpErrorKind.PARAMETER_PROBLEM;
            default -> null;
        };
    }

    private static IcmpErrorKind kindOfV6(int type, int code) {
        return switch (type) {
            case IcmpHeader.V6_UNREACHABLE -> switch (code) {
                case IcmpHeader.V6_CODE_PORT_UNREACHABLE -> IcmpErrorKind.PORT_UNREACHABLE;
                case V6_PROHIBITED_CODE, V6_POLICY_CODE, V6_REJECT_ROUTE_CODE -> IcmpErrorKind.PROHIBITED;
                default -> IcmpErrorKind.HOST_UNREACHABLE;
            };
            case IcmpHeader.V6_PACKET_TOO_BIG -> IcmpErrorKind.PACKET_TOO_BIG;
            case IcmpHeader.V6_TIME_EXCEEDED -> IcmpErrorKind.TIME_EXCEEDED;
            case IcmpHeader.V6_PARAMETER_PROBLEM -> IcmpErrorKind.PARAMETER_PROBLEM;
            default -> null;
        };
    }

    private IcmpError of(IcmpErrorKind kind, int mtuBytes, IpAddress reporter, ParseVerdict quoted) {
        if (quoted != ParseVerdict.TCP && quoted != ParseVerdict.UDP) {
            return null;
        }
        return new IcmpError(kind, mtuBytes, reporter, quote.protocol(), IpAddress.sourceOf(quote), quote.sourcePort(),
                IpAddress.destinationOf(quote), quote.destinationPort(),
                NetworkOrder.getInt(quote.transportHeaderAddress() + Integer.BYTES));
    }
}
