package io.rdmaraw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class RelaxedOrderingTest {
    private static final String BROADWELL = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\n"
            + "model name\t: Xeon\n";

    @Test
    void relaxedOrderingIsEnabledByDefault() {
        assertEquals(RelaxedOrdering.ACCESS_FLAG, RelaxedOrdering.accessFlag(null, ""));
        assertEquals(0, RelaxedOrdering.accessFlag("false", ""));
    }

    @Test
    void relaxedOrderingIsDisabledOnSlowerCpus() {
        assertEquals(0, RelaxedOrdering.accessFlag(null, BROADWELL));
        assertEquals(0, RelaxedOrdering.accessFlag(null, BROADWELL.replace("79", "63")));
        assertEquals(RelaxedOrdering.ACCESS_FLAG, RelaxedOrdering.accessFlag(null, BROADWELL.replace("79", "85")));
        assertEquals(RelaxedOrdering.ACCESS_FLAG, RelaxedOrdering.accessFlag(null,
                BROADWELL.replace("GenuineIntel", "AuthenticAMD")));
    }
}
