//! Strongly connected components [Tarjan72 §4], without recursion.

/// The components of a graph of `count` nodes, successors first. `successors` must give the
/// same answer every time.
pub fn components<'g>(count: usize, successors: impl Fn(usize) -> &'g [usize]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; count];
    let mut low = vec![0; count];
    let mut on_stack = vec![false; count];
    let mut stack = Vec::new();
    let mut components = Vec::new();
    let mut next = 0;
    for root in 0..count {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some(&mut (node, ref mut edge)) = path.last_mut() {
            if *edge == 0 {
                order[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&target) = successors(node).get(*edge) {
                *edge += 1;
                if order[target] == UNSEEN {
                    path.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(order[target]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == order[node] {
                let start = stack.iter().rposition(|&other| other == node).expect("it was pushed");
                let component = stack.split_off(start);
                component.iter().for_each(|&member| on_stack[member] = false);
                components.push(component);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn members_reach_each_other_and_callees_come_first(
            edges in prop::collection::vec((0usize..12, 0usize..12), 0..40)
        ) {
            let mut graph = vec![Vec::new(); 12];
            let mut reaches = [[false; 12]; 12];
            for &(from, to) in &edges {
                graph[from].push(to);
                reaches[from][to] = true;
            }
            for (node, row) in reaches.iter_mut().enumerate() {
                row[node] = true;
            }
            for middle in 0..12 {
                for from in 0..12 {
                    for to in 0..12 {
                        reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
                    }
                }
            }
            let found = components(12, |node| &graph[node]);
            let mut position = [usize::MAX; 12];
            for (index, component) in found.iter().enumerate() {
                for &node in component {
                    prop_assert_eq!(position[node], usize::MAX);
                    position[node] = index;
                }
            }
            for from in 0..12 {
                for to in 0..12 {
                    let together = reaches[from][to] && reaches[to][from];
                    prop_assert_eq!(position[from] == position[to], together);
                    if reaches[from][to] {
                        prop_assert!(position[to] <= position[from]);
                    }
                }
            }
        }
    }
}
