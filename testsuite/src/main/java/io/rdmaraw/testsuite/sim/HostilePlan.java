package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpSecrets;
import io.rdmaraw.tcp.congestion.Cubic;
import io.rdmaraw.tcp.congestion.NewReno;

/** The decisions before a hostile run: the attack, the options the peer negotiates and the host's configuration. */
final class HostilePlan {
    /** One of this many seeds has a hostile peer. */
    private static final int ONE_OF = 8;
    private static final int LABEL = 9;

    final long seed;
    final SplitMix random;
    final AttackKind attack;
    final boolean ipv6;
    final boolean timestamps;
    final boolean sack;
    final int mss;
    final long rttNanos;
    final int backlog;
    final int receiveBufferBytes;
    final int maxReceiveBufferBytes;
    final boolean newReno;
    final boolean alwaysCookies;

    HostilePlan(long seed) {
        this.seed = seed;
        random = new SplitMix(seed).split(LABEL + 1);
        SplitMix draw = random.split(1);
        attack = AttackKind.values()[draw.below(AttackKind.values().length)];
        ipv6 = draw.chance(0.3);
        timestamps = draw.chance(0.7);
        sack = draw.chance(0.8) || attack == AttackKind.SACK_FLOOD;
        mss = draw.pick(64, 88, 216, 536, 1460, 1460);
        rttNanos = draw.magnitude(20_000, 150 * LinkPlan.MILLI);
        backlog = draw.between(4, 64);
        receiveBufferBytes = (int) draw.magnitude(32_768, 2 << 20);
        maxReceiveBufferBytes = draw.chance(0.3) ? 4 << 20 : 0;
        newReno = draw.chance(0.3);
        alwaysCookies = attack == AttackKind.COOKIE_REPLAY && draw.chance(0.5);
    }

    static boolean isHostile(long seed) {
        return new SplitMix(seed).split(LABEL).below(ONE_OF) == 0;
    }

    /** Returns the host's configuration. All timeouts keep their defaults, because the run tests them. */
    TcpConfig config(TcpSecrets secrets) {
        return TcpConfig.builder().secrets(secrets).initialReceiveBufferBytes(receiveBufferBytes)
                .maxReceiveBufferBytes(maxReceiveBufferBytes)
                .congestionControl(newReno ? NewReno::new : Cubic::new)
                .synCookies(alwaysCookies ? TcpConfig.SynCookieMode.ALWAYS : TcpConfig.SynCookieMode.ON_OVERFLOW)
                .build();
    }

    @Override
    public String toString() {
        return "seed " + seed + " hostile peer: " + attack + (ipv6 ? " IPv6" : " IPv4") + ", mss " + mss
                + (timestamps ? "" : ", no timestamps") + (sack ? "" : ", no SACK") + ", RTT " + rttNanos / 1000
                + " us\n  host: backlog " + backlog + ", buffer " + receiveBufferBytes
                + (maxReceiveBufferBytes > 0 ? ".." + maxReceiveBufferBytes : "")
                + (newReno ? ", NewReno" : ", CUBIC") + (alwaysCookies ? ", cookies" : "");
    }
}
