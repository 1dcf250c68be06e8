package io.rdmaraw.wire;

import io.rdmaraw.ffi.NetworkOrder;

/**
 * The ICMPv6 parameter problems with which a host answers IPv6 packets that it cannot process (RFC 8200 sections
 * 4 to 4.5, RFC 4443 section 3.4).
 */
public final class Ipv6ParameterProblems {
    /** Code of a parameter problem: a field has an invalid value. */
    public static final int ERRONEOUS_FIELD = 0;
    /** Code of a parameter problem: unrecognized next header (RFC 4443 section 3.4). */
    public static final int UNKNOWN_NEXT_HEADER = 1;
    /** Code of a parameter problem: unrecognized option of a type that requests an answer. */
    public static final int UNKNOWN_OPTION = 2;
    /** Result of {@link #code} if no answer is sent. */
    public static final int NO_ANSWER = -1;

    private static final int PAYLOAD_LENGTH_POINTER = 4;
    private static final int NEXT_HEADER_POINTER = 6;
    private static final int ROUTING_TYPE_OFFSET = 2;
    private static final int FRAGMENT_OFFSET_OFFSET = 2;
    private static final int OPTION_PAD1 = 0;
    private static final int OPTION_ACTION_MASK = 0xc0;
    private static final int OPTION_ACTION_REPORT = 0x80;
    private static final int OPTION_ACTION_REPORT_UNICAST = 0xc0;

    private Ipv6ParameterProblems() {
    }

    /** Returns the code of the parameter problem, or {@link #NO_ANSWER}. */
    public static int code(ParsedFrame packet, ParseVerdict verdict) {
        if (packet.ipVersion != 6) {
            return NO_ANSWER;
        }
        return switch (verdict) {
            case OTHER_PROTOCOL -> packet.protocol == IpProtocol.NO_NEXT_HEADER ? NO_ANSWER : UNKNOWN_NEXT_HEADER;
            case IPV6_ROUTING_HEADER -> ERRONEOUS_FIELD;
            case IPV6_BAD_FRAGMENT -> packet.payloadLengthBytes == 0 ? NO_ANSWER : ERRONEOUS_FIELD;
            case IPV6_UNKNOWN_OPTION -> optionCode(packet);
            default -> NO_ANSWER;
        };
    }

    /**
     * Returns the code for an unrecognized option. The type of the option specifies whether its sender is
     * answered (RFC 8200 section 4.2).
     */
    private static int optionCode(ParsedFrame packet) {
        int action = NetworkOrder.getU8(packet.payloadAddress() + unknownOptionOffset(packet)) & OPTION_ACTION_MASK;
        boolean multicast = Ipv6Header.isMulticast(Ipv6Header.destinationHigh(packet.networkHeaderAddress()));
        return action == OPTION_ACTION_REPORT || action == OPTION_ACTION_REPORT_UNICAST && !multicast ? UNKNOWN_OPTION
                : NO_ANSWER;
    }

    /** Returns the offset of the unrecognized option in the header at which the parser has stopped. */
    private static int unknownOptionOffset(ParsedFrame packet) {
        long header = packet.payloadAddress();
        int offset = 2;
        while ((NetworkOrder.getU8(header + offset) & OPTION_ACTION_MASK) == 0) {
            offset += NetworkOrder.getU8(header + offset) == OPTION_PAD1 ? 1
                    : 2 + NetworkOrder.getU8(header + offset + 1);
        }
        return offset;
    }

    /** Returns the offset of the fault in the packet, for a verdict that has a {@link #code}. */
    public static int pointer(ParsedFrame packet, ParseVerdict verdict) {
        int stoppedAt = packet.payloadOffset - packet.networkOffset;
        return switch (verdict) {
            case IPV6_ROUTING_HEADER -> stoppedAt + ROUTING_TYPE_OFFSET;
            case IPV6_UNKNOWN_OPTION -> stoppedAt + unknownOptionOffset(packet);
            // Either the length is not a multiple of eight, or the fragment ends beyond the maximum packet
            // length.
            case IPV6_BAD_FRAGMENT -> packet.moreFragments && (packet.payloadLengthBytes & 7) != 0
                    ? PAYLOAD_LENGTH_POINTER
                    : stoppedAt - Ipv6Header.FRAGMENT_LENGTH_BYTES + FRAGMENT_OFFSET_OFFSET;
            default -> nextHeaderPointer(packet, stoppedAt);
        };
    }

    /**
     * Returns the offset of the field that contains the unrecognized protocol. It lies in the last header before
     * the payload.
     */
    private static int nextHeaderPointer(ParsedFrame packet, int stoppedAt) {
        int pointer = NEXT_HEADER_POINTER;
        int offset = Ipv6Header.LENGTH_BYTES;
        int protocol = Ipv6Header.nextHeader(packet.networkHeaderAddress());
        while (offset < stoppedAt) {
            long header = packet.networkHeaderAddress() + offset;
            pointer = offset;
            offset += protocol == IpProtocol.FRAGMENT ? Ipv6Header.FRAGMENT_LENGTH_BYTES
                    : 8 + (NetworkOrder.getU8(header + 1) << 3);
            protocol = NetworkOrder.getU8(header);
        }
        return pointer;
    }
}
