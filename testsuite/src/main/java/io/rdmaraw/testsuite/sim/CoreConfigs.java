package io.rdmaraw.testsuite.sim;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.TcpLimits;
import io.rdmaraw.tcp.congestion.CongestionControls;

/** Converts a {@link CorePlan} into the core's configuration. */
final class CoreConfigs {
    private static final int PATIENT_RETRIES = 30;

    private CoreConfigs() {
    }

    static TcpConfig of(CorePlan plan) {
        return TcpConfig.builder().mtuBytes(plan.mtuBytes).initialReceiveBufferBytes(plan.receiveBufferBytes)
                .maxReceiveBufferBytes(plan.maxReceiveBufferBytes).segmentationBytes(plan.segmentationBytes)
                .noDelay(plan.noDelay).sack(plan.sack).timestamps(plan.timestamps).windowScaling(plan.windowScaling)
                .ecn(TcpConfig.EcnMode.values()[plan.ecn]).delayedAckNanos(plan.delayedAckNanos)
                .congestionControl(CongestionControls.named(plan.congestion)).pacing(plan.pacing)
                .alternativeBackoff(plan.alternativeBackoff)
                // Peers of some plans announce a very small MSS. This limit accepts it, to get many segments.
                .limits(TcpLimits.builder().minSendMss(48).build())
                .synCookies(plan.cookies ? TcpConfig.SynCookieMode.ALWAYS : TcpConfig.SynCookieMode.ON_OVERFLOW)
                // Timeouts that give up are correct in production, but here they would hide errors: a run must
                // complete despite its faults.
                .synRetries(PATIENT_RETRIES).synAckRetries(PATIENT_RETRIES).maxTimeouts(PATIENT_RETRIES)
                .orphanRetries(PATIENT_RETRIES).finWait2Nanos(7_200_000 * LinkPlan.MILLI).build();
    }
}
