package io.rdmaraw.net;

import io.rdmaraw.wire.FrameParser;
import io.rdmaraw.wire.IcmpErrorKind;
import io.rdmaraw.wire.IcmpHeader;
import io.rdmaraw.ffi.NetworkOrder;
import io.rdmaraw.wire.ParseCounters;
import io.rdmaraw.wire.ParseVerdict;
import io.rdmaraw.wire.ParsedFrame;

/** Reads ICMP and ICMPv6 errors. For one thread. */
public final class IcmpErrors {
    /** Codes of RFC 1812 section 5.2.7.1 and RFC 4443 section 3.1 that say "filtered". */
    private static final int FIRST_PROHIBITED_CODE = 9;
    private static final int HOST_PROHIBITED_CODE = 10;
    private static final int COMMUNICATION_PROHIBITED_CODE = 13;
    private static final int V6_PROHIBITED_CODE = 1;
    private static final int V6_POLICY_CODE = 5;
    private static final int V6_REJECT_ROUTE_CODE = 6;

    private final FrameParser parser;
    private final ParsedFrame quote = new ParsedFrame();

    /** @param counters of the verdicts on what is quoted */
    public IcmpErrors(ParseCounters counters) {
        parser = new FrameParser(counters);
    }

    /**
     * Returns the error that a message with the verdict ICMP or ICMPV6 carries, or null when it carries none of use.
     */
    public IcmpError read(ParsedFrame message) {
        long icmp = message.transportAddress();
        boolean ipv4 = message.ipVersion() == 4;
        IcmpErrorKind kind = ipv4 ? kindOf(IcmpHeader.type(icmp), IcmpHeader.code(icmp))
                : kindOfV6(IcmpHeader.type(icmp), IcmpHeader.code(icmp));
        if (kind == null) {
            return null;
        }
        int mtuBytes = kind != IcmpErrorKind.PACKET_TOO_BIG ? 0
                : ipv4 ? IcmpHeader.nextHopMtu(icmp) : packetTooBigMtu(icmp);
        return of(kind, mtuBytes, IpAddress.sourceOf(message), parser.parseQuote(message, quote));
    }

    /** Returns the error of an ICMPv6 message that lies there without its IP header, or null. */
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

    /** A larger MTU is the same as the largest int: it lowers nothing. */
    private static int packetTooBigMtu(long icmp) {
        return (int) Math.min(IcmpHeader.packetTooBigMtu(icmp), Integer.MAX_VALUE);
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
                NetworkOrder.getInt(quote.transportAddress() + Integer.BYTES));
    }
}
