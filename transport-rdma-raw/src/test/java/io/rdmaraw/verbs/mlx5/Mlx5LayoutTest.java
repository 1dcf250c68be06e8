package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.ffi.CProgram;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvContextLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvCqInitAttrLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvCqLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvObjLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvQpInitAttrLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvQpLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvRwqLayout;
import io.rdmaraw.verbs.mlx5.Mlx5dvLayouts.Mlx5dvWqInitAttrLayout;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Compares layouts and constants with the C compiler's result for infiniband/mlx5dv.h. */
class Mlx5LayoutTest {
    /** Our constants by their C expression. */
    private final Map<String, Long> ours = new LinkedHashMap<>();

    @Test
    void layoutsMatchTheCompiler() throws Exception {
        addLayout(Mlx5dvQpLayout.class, "", "mlx5dv_qp", Map.of("SQ_", "sq.", "RQ_", "rq.", "BF_", "bf."));
        addLayout(Mlx5dvCqLayout.class, "", "mlx5dv_cq", Map.of());
        addLayout(Mlx5dvRwqLayout.class, "", "mlx5dv_rwq", Map.of());
        addLayout(Mlx5dvObjLayout.class, "", "mlx5dv_obj", Map.of("QP_", "qp.", "CQ_", "cq.", "RWQ_", "rwq."));
        addLayout(Mlx5dvCqInitAttrLayout.class, "", "mlx5dv_cq_init_attr", Map.of());
        addLayout(Mlx5dvQpInitAttrLayout.class, "", "mlx5dv_qp_init_attr", Map.of());
        addLayout(Mlx5dvContextLayout.class, "", "mlx5dv_context", Map.of("CQE_COMP_CAPS_", "cqe_comp_caps.",
                "STRIDING_RQ_CAPS_", "striding_rq_caps."));
        addLayout(Mlx5dvWqInitAttrLayout.class, "", "mlx5dv_wq_init_attr",
                Map.of("STRIDING_RQ_ATTRS_", "striding_rq_attrs."));
        addLayout(Cqe.class, "(?!ERROR_).*", "mlx5_cqe64", Map.of());
        addLayout(Cqe.class, "ERROR_", "mlx5_err_cqe", Map.of());
        addLayout(Wqe.class, "CTRL_", "mlx5_wqe_ctrl_seg", Map.of());
        addLayout(Wqe.class, "ETH_", "mlx5_wqe_eth_seg", Map.of());
        addLayout(Wqe.class, "NEXT_", "mlx5_wqe_srq_next_seg", Map.of());
        addLayout(Wqe.class, "DATA_", "mlx5_wqe_data_seg", Map.of());
        assertTrue(ours.size() > 45, "only " + ours.size() + " constants were found");
        compare();
    }

    @Test
    void constantsMatchTheHeader() throws Exception {
        ours.put("sizeof(struct mlx5dv_obj) <= " + Mlx5dvObjLayout.ROOM_BYTES, 1L);
        ours.put("sizeof(struct mlx5dv_cq_init_attr) <= " + Mlx5dvCqInitAttrLayout.ROOM_BYTES, 1L);
        ours.put("sizeof(struct mlx5dv_context) <= " + Mlx5dvContextLayout.ROOM_BYTES, 1L);
        ours.put("sizeof(struct mlx5dv_wq_init_attr) <= " + Mlx5dvWqInitAttrLayout.ROOM_BYTES, 1L);
        ours.put("sizeof(struct mlx5dv_qp_init_attr) <= " + Mlx5dvQpInitAttrLayout.ROOM_BYTES, 1L);
        ours.put("MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS", (long) Mlx5dv.QP_INIT_ATTR_MASK_QP_CREATE_FLAGS);
        ours.put("MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC", (long) Mlx5dv.QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC);
        ours.put("MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC", (long) Mlx5dv.QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC);
        ours.put("MLX5DV_CONTEXT_MASK_STRIDING_RQ", (long) Mlx5dv.CONTEXT_MASK_STRIDING_RQ);
        ours.put("MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ", (long) Mlx5dv.WQ_INIT_ATTR_MASK_STRIDING_RQ);
        ours.put("MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX", (long) Mlx5dv.CQE_RES_FORMAT_CSUM_STRIDX);
        ours.put("MLX5DV_CONTEXT_MASK_CQE_COMPRESION", (long) Mlx5dv.CONTEXT_MASK_CQE_COMPRESION);
        ours.put("MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE", (long) Mlx5dv.CQ_INIT_ATTR_MASK_COMPRESSED_CQE);
        ours.put("MLX5DV_CQE_RES_FORMAT_HASH", (long) Mlx5dv.CQE_RES_FORMAT_HASH);
        ours.put("MLX5DV_OBJ_QP", (long) Mlx5dv.OBJ_QP);
        ours.put("MLX5DV_OBJ_CQ", (long) Mlx5dv.OBJ_CQ);
        ours.put("MLX5DV_OBJ_RWQ", (long) Mlx5dv.OBJ_RWQ);
        ours.put("MLX5_SEND_WQE_BB", (long) Wqe.BLOCK_BYTES);
        ours.put("MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW", (long) Mlx5dv.CONTEXT_FLAGS_ENHANCED_MPW);
        ours.put("(int) MLX5_INLINE_SEG", (long) Wqe.DATA_INLINE);
        ours.put("MLX5_OPCODE_SEND", (long) Wqe.OPCODE_SEND);
        ours.put("MLX5_OPCODE_TSO", (long) Wqe.OPCODE_TSO);
        ours.put("MLX5_WQE_CTRL_CQ_UPDATE", (long) Wqe.CTRL_CQ_UPDATE);
        ours.put("MLX5_ETH_WQE_L3_CSUM", (long) Wqe.ETH_L3_CSUM);
        ours.put("MLX5_ETH_WQE_L4_CSUM", (long) Wqe.ETH_L4_CSUM);
        ours.put("MLX5_INVALID_LKEY", (long) Wqe.INVALID_LKEY);
        ours.put("MLX5_CQE_OWNER_MASK", (long) Cqe.OWNER_MASK);
        ours.put("MLX5_CQE_REQ", (long) Cqe.OPCODE_REQ);
        ours.put("MLX5_CQE_RESP_SEND", (long) Cqe.OPCODE_RESP_SEND);
        ours.put("MLX5_CQE_REQ_ERR", (long) Cqe.OPCODE_REQ_ERR);
        ours.put("MLX5_CQE_RESP_ERR", (long) Cqe.OPCODE_RESP_ERR);
        ours.put("MLX5_CQE_INVALID", (long) Cqe.OPCODE_INVALID);
        ours.put("MLX5_CQE_L3_OK", (long) Cqe.L3_OK);
        ours.put("MLX5_CQE_L4_OK", (long) Cqe.L4_OK);
        ours.put("MLX5_CQE_L3_HDR_TYPE_IPV4", (long) Cqe.L3_HDR_TYPE_IPV4);
        for (Field field : Syndrome.class.getDeclaredFields()) {
            ours.put("MLX5_CQE_SYNDROME_" + field.getName(), number(field));
        }
        assertTrue(ours.size() > 30, "only " + ours.size() + " numbers were found");
        compare();
    }

    private void addLayout(Class<?> type, String prefix, String struct, Map<String, String> nested) throws Exception {
        boolean isPattern = prefix.contains("*");
        List<Field> fields = Stream.of(type.getDeclaredFields())
                .filter(f -> f.getName().endsWith("_OFFSET") || f.getName().endsWith("SIZE_BYTES"))
                .filter(f -> isPattern ? f.getName().matches(prefix) : f.getName().startsWith(prefix)).toList();
        for (Field field : fields) {
            String name = isPattern ? field.getName() : field.getName().substring(prefix.length());
            String member = name.replace("_OFFSET", "");
            for (Map.Entry<String, String> entry : nested.entrySet()) {
                if (member.startsWith(entry.getKey())) {
                    member = entry.getValue() + member.substring(entry.getKey().length());
                }
            }
            ours.put(name.equals("SIZE_BYTES") ? "sizeof(struct " + struct + ")"
                    : "offsetof(struct " + struct + ", " + member.toLowerCase(Locale.ROOT) + ")", number(field));
        }
        assertTrue(!fields.isEmpty(), () -> "no constants in " + type);
    }

    private static long number(Field field) throws IllegalAccessException {
        field.setAccessible(true);
        return ((Number) field.get(null)).longValue();
    }

    private void compare() throws Exception {
        StringBuilder source = new StringBuilder("#include <infiniband/mlx5dv.h>\n#include <stddef.h>\n"
                + "#include <stdio.h>\nint main(void) {\n");
        for (String expression : ours.keySet()) {
            source.append("printf(\"%lld\\n\", (long long) (").append(expression).append("));\n");
        }
        List<String> theirs = CProgram.run(source.append("return 0;\n}\n").toString());
        List<Executable> checks = new ArrayList<>();
        int i = 0;
        for (Map.Entry<String, Long> entry : ours.entrySet()) {
            String theirNumber = theirs.get(i++);
            checks.add(() -> assertEquals(theirNumber, entry.getValue().toString(), entry.getKey()));
        }
        assertAll(checks);
    }
}
