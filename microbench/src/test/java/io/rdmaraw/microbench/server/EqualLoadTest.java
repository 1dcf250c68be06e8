package io.rdmaraw.microbench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class EqualLoadTest {
    @Test
    void isAShareOfTheSlowestAnswerRateAndStaysFixed() {
        EqualLoad load = new EqualLoad(0);
        load.answered(61_777);
        load.answered(95_755);
        assertEquals(30_800, load.perSecond(50));
        load.answered(10_000);
        assertEquals(30_800, load.perSecond(50));
        assertEquals(55_500, load.perSecond(90));
    }

    @Test
    void isAShareOfTheRequestedRate() {
        EqualLoad load = new EqualLoad(20_000);
        load.answered(100);
        assertEquals(10_000, load.perSecond(50));
    }
}
